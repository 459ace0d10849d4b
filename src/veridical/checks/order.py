"""Order: the claim has the passage's numbers, names or opposites, exchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from veridical.checks.matching import Match, Sentence, common_length
from veridical.checks.opposites import SIDES
from veridical.checks.words import fold, listed
from veridical.types import Finding

_ALIKE = 0.8  # share of the claim's content words that the sentence holds
_MOST = 6  # words of a sentence that are exchanged with each other
_MOST_ALIKE = 3  # sentences that are compared
_LIST = 4  # words between two names of a list
_AND = frozenset({"and", "or"})
_FILLER = frozenset({"a", "an", "the"})
# With these words either may come first: "Anna met Peter", "the man and the woman".
_EITHER_WAY = frozenset(
    listed("""
    married marries marry met meets meet equal equals between versus vs with similar same border borders near beside
    differ differs rival rivals cousin brother sister siblings friend friends
    """)
)
_CAPITAL = re.compile(r"\b[A-Z]\w+")


def find_exchanges(matches: Sequence[Match]) -> Iterator[Finding]:
    """One finding of kind "order" for each sentence of the claim that two exchanged words make the passage's."""
    for claimed, near in matches:
        alike = [other for share, other in near if share >= _ALIKE][:_MOST_ALIKE]
        movable = _movable(claimed) if alike else []
        found = [_exchanged(claimed, other, movable) for other in alike]
        # Another sentence may have the words as the claim has them.
        if pair := all(found) and found and found[0]:
            one, two = pair
            yield Finding("order", f"{one} … {two}", f"the passage has “{one}” and “{two}” the other way round")


def _movable(sentence: Sentence) -> list[str]:
    """Numbers, names and words with an opposite: what may change places and still make a sentence."""
    names = set(map(fold, _CAPITAL.findall(sentence.raw)))
    pairs = zip(sentence.tokens, sentence.stems, strict=True)
    telling = [token for token, stem in pairs if token[0].isdecimal() or token in SIDES or (stem and token in names)]
    return list(dict.fromkeys(telling))[:_MOST]


def _exchanged(claimed: Sentence, other: Sentence, movable: Sequence[str]) -> tuple[str, str] | None:
    """The two words that must change places for the claim to go along with the sentence."""
    theirs, ours = _words(other), _words(claimed)
    present = set(theirs)
    as_it_is = common_length(ours, theirs)
    if as_it_is > len(ours) - 2:
        return None
    free = ("by" in ours) != ("by" in present) or not _EITHER_WAY.isdisjoint(ours)  # "was bought by" turns names round
    for pair in combinations([word for word in movable if word in present], 2):
        if (free and not pair[0][0].isdecimal()) or _are_listed(ours, *pair):
            continue
        swap = {pair[0]: pair[1], pair[1]: pair[0]}
        swapped = common_length([swap.get(word, word) for word in ours], theirs)
        if swapped >= as_it_is + 2 and swapped >= _ALIKE * len(ours):
            return pair
    return None


def _are_listed(words: Sequence[str], one: str, other: str) -> bool:
    """Whether the two stand in one list: "the man and the woman", "Holm Mill and Lund Mill"."""
    between = words[words.index(one) + 1 : words.index(other)]
    names = not (one in SIDES or one[0].isdecimal()) and len(between) <= _LIST
    return set(between) <= _AND or (names and not _AND.isdisjoint(between))


def _words(sentence: Sentence) -> list[str]:
    return [token for token in sentence.tokens if token[0].isalnum() and token not in _FILLER]
