"""Negation: the claim denies what the passage says, or says what the passage denies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from veridical.checks.matching import Match, Sentence
from veridical.checks.opposites import agree_by_denial
from veridical.checks.words import denies, listed
from veridical.types import Finding

# Words that deny without a form of "not": a sentence that has one is read neither way.
_NEGATIVE = frozenset(
    listed("""
    lack lacks lacked lacking absence absent zero 0 unlikely rarely hardly seldom scarcely barely few little free false
    except excluding unless instead impossible stopped ceased ended prevent prevents prevented avoid avoids avoided
    rejected reject rejects unknown neutral
    """)
)
# Where another clause begins, a negation ends.
_CLAUSE = frozenset(
    listed("""
    he she it they we you i who which that because if when while although though but whether as than until unless
    """)
)
# After these a negation denies nothing.
_HARMLESS_NEXT = frozenset(
    listed(
        "only just merely simply least less more fewer doubt matter later earlier sooner necessarily all every always"
    )
)
_HARMLESS_BEFORE = frozenset({"or", "if", "why", "whether"})
_SCOPE = 2  # content words after a negation that it denies
_REACH = 5  # tokens it reaches at most
_ALIKE = 0.7  # share of a claim's content words in a sentence from which the two say much the same
_SAME = 0.9
_COVERED = 0.6  # share of a sentence's content words that a claim must have to be denied by it


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence as the stems of its content words, and those that stand under a negation, with its cue."""

    words: frozenset[str]
    denied: dict[str, str]
    negative: bool  # whether any word of it denies, if only by its meaning


def find_negations(matches: Sequence[Match]) -> Iterator[Finding]:
    """One finding a sentence of the claim at most; kind "negation" when the words are nearly all the same,
    "polarity" when they are much the same.
    """
    for claimed, near in matches:
        if near and agree_by_denial(claimed, near[0][1]):
            continue
        yield from _compare(_read_statement(claimed), [(share, _read_statement(other)) for share, other in near])


def _compare(claimed: Statement, near: list[tuple[float, Statement]]) -> Iterator[Finding]:
    """A finding when a word stands under a negation in the claim or in all that is near to it, but not in both."""
    best = max((share for share, _ in near), default=0.0)
    if best < _ALIKE:
        return
    kind = "negation" if best >= _SAME else "polarity"
    for word, cue in claimed.denied.items():
        holding = [other for _, other in near if word in other.words]
        alike = any(share >= _ALIKE and word in other.words for share, other in near)
        if alike and not any(other.negative for other in holding):
            yield Finding(kind, cue, f"the claim denies what the passage says ({cue})")
            return
        swapped = next((other for share, other in near if share >= _SAME and _swap(claimed, other, word)), None)
        if swapped:
            yield Finding("negation", cue, "the claim denies what the passage says, and says what it denies")
            return
    if claimed.negative:
        return
    for share, other in near:
        # A long sentence may deny something beside the point: the claim must cover most of what it says.
        if share < _ALIKE or share * len(claimed.words) < _COVERED * len(other.words):
            continue
        for word, cue in other.denied.items():
            if word in claimed.words and all(word in rest.denied for _, rest in near if word in rest.words):
                yield Finding(kind, cue, f"the passage denies what the claim says ({cue})")
                return


def _swap(claimed: Statement, other: Statement, word: str) -> bool:
    """Whether the other says the word that the claim denies, and denies one that the claim says: "A but not B"."""
    said = word in other.words and word not in other.denied
    return said and any(denied in claimed.words and denied not in claimed.denied for denied in other.denied)


def _read_statement(sentence: Sentence) -> Statement:
    tokens = sentence.tokens
    if not any(map(denies, tokens)):
        return Statement(sentence.words, {}, not _NEGATIVE.isdisjoint(tokens))
    denied: dict[str, str] = {}
    for place, token in enumerate(tokens):
        if not _is_cue(tokens, place):
            continue
        for word in _scope(sentence, place):
            if word in denied:  # "never without": denied twice is said
                del denied[word]
            else:
                denied[word] = token
    return Statement(sentence.words, denied, True)


def _is_cue(tokens: Sequence[str], place: int) -> bool:
    word = tokens[place]
    if not denies(word) or "if" in tokens[max(place - 4, 0) : place]:
        return False
    after = tokens[place + 1] if place + 1 < len(tokens) else ""
    before = tokens[place - 1] if place else ""
    numbered = word == "no" and (after == "." or after[:1].isdecimal())  # "No. 1"
    reply = word == "no" and place == 0 and len(tokens) > 4  # "No, it was …"
    return after not in _HARMLESS_NEXT and not reply and before not in _HARMLESS_BEFORE and not numbered


def _scope(sentence: Sentence, place: int) -> list[str]:
    """The stems of the next content words, up to the end of the clause."""
    words: list[str] = []
    for at in range(place + 1, min(place + 1 + _REACH, len(sentence.tokens))):
        token = sentence.tokens[at]
        if not token[0].isalnum() or token in _CLAUSE or len(words) == _SCOPE:
            break
        if sentence.stems[at]:
            words.append(sentence.stems[at])
    return words
