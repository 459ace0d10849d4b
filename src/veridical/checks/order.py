"""Order: the claim has the passage's numbers, exchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from veridical.checks.matching import Match, Sentence, common_length
from veridical.types import Finding

_ALIKE = 0.8  # share of the claim's content words that the sentence holds
_MOST = 8  # numbers of a sentence that are exchanged with each other
_FILLER = frozenset({"a", "an", "the"})


def find_exchanges(matches: Sequence[Match]) -> Iterator[Finding]:
    """One finding of kind "order" for each sentence of the claim that two exchanged numbers make the passage's."""
    for claimed, near in matches:
        alike = [other for share, other in near if share >= _ALIKE]
        numbers = list(dict.fromkeys(token for token in claimed.tokens if token[0].isdecimal()))[:_MOST]
        if len(numbers) < 2:
            continue
        exchanged = [pair for other in alike if (pair := _exchanged(claimed, other, numbers))]
        # Another sentence may have the numbers as the claim has them.
        if exchanged and len(exchanged) == sum(set(numbers) <= set(other.tokens) for other in alike):
            one, two = exchanged[0]
            yield Finding("order", f"{one} … {two}", f"the passage has {one} and {two} the other way round")


def _exchanged(claimed: Sentence, other: Sentence, numbers: Sequence[str]) -> tuple[str, str] | None:
    """The two numbers that must change places for the claim to go along with the sentence."""
    present = set(other.tokens)
    if not present.issuperset(numbers):
        return None
    theirs, ours = _words(other), _words(claimed)
    as_it_is = common_length(ours, theirs)
    for one, two in combinations(numbers, 2):
        swap = {one: two, two: one}
        swapped = common_length([swap.get(word, word) for word in ours], theirs)
        if swapped >= as_it_is + 2 and swapped >= _ALIKE * len(ours):
            return one, two
    return None


def _words(sentence: Sentence) -> list[str]:
    pairs = zip(sentence.tokens, sentence.stems, strict=True)
    return [stem or token for token, stem in pairs if token[0].isalnum() and token not in _FILLER]
