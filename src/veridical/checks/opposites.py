"""Opposites: the claim says "rose" where the passage says "fell", of the same thing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from veridical.checks.matching import Match, Sentence, common_length
from veridical.checks.words import denies, listed
from veridical.types import Finding

# Each row has sides; a word of one side is the opposite of each word of another.
_ROWS = (
    """
    rose rise rises risen rising increased increase increases increasing grew grow grows grown growing climbed climb
    climbs raised raise raises raising gained gain gains improved improve improves
    | fell fall falls fallen falling decreased decrease decreases decreasing declined decline declines declining dropped
    drop drops shrank shrink shrinks shrunk lowered lower lowers lowering reduced reduce reduces reducing lost loses
    lose worsened worsen worsens
    """,
    "won win wins winning | lost lose loses losing",
    "before prior | after",
    "more | less fewer",
    "most | least fewest",
    "higher highest | lower lowest",
    "larger bigger greater largest biggest greatest | smaller smallest",
    "longer longest | shorter shortest",
    "older oldest elder eldest | younger youngest newer newest",
    "faster fastest quicker | slower slowest",
    "better best | worse worst",
    "stronger strongest | weaker weakest",
    "warmer warmest hotter hottest | colder coldest cooler coolest",
    "strengthened strengthen strengthens | weakened weaken weakens",
    "first | last",
    "early earlier earliest | late later latest",
    "opened opens open reopened | closed closes close shut",
    "accepted accept accepts approved approve approves | rejected reject rejects refused declined",
    "allowed allow allows permitted permit permits | banned ban bans forbidden forbids prohibited prohibits",
    "joined join joins | left leave leaves quit quits",
    "stayed stay stays remained remain remains | left leave leaves leaving",
    "arrived arrive arrives | departed depart departs left leave leaves",
    "survived survive survives | destroyed died perished dies",
    "started start starts began begin begins begun launched | ended end ends finished finish finishes stopped stops",
    "bought buy buys purchased acquired | sold sell sells",
    "imported import imports importing | exported export exports exporting",
    "included include includes including | excluded exclude excludes excluding",
    "added add adds | removed remove removes deleted",
    "supported support supports supporting favoured favored | opposed oppose opposes opposing",
    "created create creates built build builds | destroyed destroy destroys demolished",
    "succeeded succeed succeeds | failed fail fails",
    "passed pass passes | failed fail fails",
    "encouraged encourage encourages | discouraged discourage discourages",
    "attacked attack attacks | defended defend defends",
    "lent lend lends | borrowed borrow borrows",
    "true | false",
    "safe safely harmless | dangerous unsafe harmful",
    "alive living | dead deceased",
    "male males man men boy boys | female females woman women girl girls",
    "husband | wife",
    "father | mother",
    "brother brothers | sister sisters",
    "son sons | daughter daughters",
    "parent parents | child children",
    "adult adults | child children infant infants",
    "teacher teachers | pupil pupils student students",
    "employer employers | employee employees",
    "north northern northward | south southern southward | east eastern eastward | west western westward",
    "northeast northeastern | northwest northwestern | southeast southeastern | southwest southwestern",
    "hourly | daily | weekly | monthly | quarterly | yearly annually annual",
    "once | twice | thrice",
    "systolic | diastolic",
    "inside indoors indoor | outside outdoors outdoor",
    "internal | external",
    "above | below beneath",
    "upper | lower",
    "upstream | downstream",
    "left | right",
    "always | never",
    "all every | none",
    "both | neither",
    "with | without",
    "legal lawful legally | illegal unlawful illegally",
    "public publicly | private privately",
    "positive positively | negative negatively",
    "major | minor",
    "majority | minority",
    "maximum | minimum",
    "possible | impossible",
    "guilty | innocent acquitted",
    "convicted | acquitted",
    "urban | rural",
    "domestic | foreign",
    "temporary temporarily | permanent permanently",
    "acute | chronic",
    "benign | malignant",
    "effective | ineffective",
    "common | rare uncommon",
    "full | empty",
    "wet | dry",
    "rich | poor",
    "deep | shallow",
    "strong | weak",
    "morning | afternoon | evening",
    "winter | summer | spring | autumn",
    "profit profits | loss losses",
    "victory | defeat",
    "enabled enable enables | disabled disable disables",
    "required require requires mandatory compulsory | optional voluntary",
    "winner winners | loser losers",
    "buyer buyers | seller sellers",
)
_ENDS = frozenset(listed(", ; : ( ) — – . ! ? while whereas but although though and which who because"))
_SOFT, _HARD = 0.6, 0.75  # shares of the claim's other content words that the clause or sentence holds
_IN_ORDER = 0.7  # share of them that stand in the same order: "A before B" is no opposite of "B after A"
_AROUND = 2  # content words on either side that are near
_FEWEST = 2  # content words beside the opposite; with no more than these all must be the same
_MOST = 12  # words with an opposite that are compared with those of another sentence
_DENIED = 3  # tokens before a word within which a negation turns it round


class Side(NamedTuple):
    row: int
    side: int


def _read_rows() -> dict[str, frozenset[Side]]:
    sides: dict[str, frozenset[Side]] = {}
    for number, row in enumerate(_ROWS):
        for side, words in enumerate(row.split("|")):
            for word in words.split():
                sides[word] = sides.get(word, frozenset()) | {Side(number, side)}
    return sides


SIDES = MappingProxyType(_read_rows())


class Clause(NamedTuple):
    """A run of a sentence's tokens: all of it, or from one comma or conjunction to the next."""

    sentence: Sentence
    start: int
    end: int

    @property
    def words(self) -> frozenset[str]:
        return frozenset(self.sentence.stems[self.start : self.end]) - {""}

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.sentence.tokens[self.start : self.end]


def find_opposites(matches: Sequence[Match]) -> Iterator[Finding]:
    """One finding a sentence of the claim at most: kind "opposite" when nearly all the rest is the same,
    "polarity" when much of it is.
    """
    for match in matches:
        best = max(_opposites(match), default=None, key=lambda found: found[0])
        if best:
            share, mine, theirs = best
            reason = f"the passage says “{theirs}”, the claim “{mine}”"
            yield Finding("opposite" if share >= _HARD else "polarity", mine, reason)


def _opposites(match: Match) -> Iterator[tuple[float, str, str]]:
    """Every pair of opposites with the share of the rest that both have."""
    claimed = match.claimed
    places = [place for place, token in enumerate(claimed.tokens) if token in SIDES][:_MOST]
    if not places or not match.near:
        return
    clauses = [clause for _, sentence in match.near for clause in _split(sentence)]
    for place in places:
        mine = claimed.tokens[place]
        rest = claimed.words - {claimed.stems[place]}
        if len(rest) < _FEWEST or _is_denied(claimed, place):
            continue
        if any(_says(clause, mine) and len(rest & clause.words) >= len(rest) / 2 for clause in clauses):
            continue
        for clause in clauses:
            yield from _compare(claimed, place, rest, clause)


def _compare(claimed: Sentence, place: int, rest: frozenset[str], clause: Clause) -> Iterator[tuple[float, str, str]]:
    mine = claimed.tokens[place]
    for at in range(clause.start, clause.end):
        theirs = clause.sentence.tokens[at]
        if not oppose(mine, theirs) or theirs in claimed.tokens or _is_denied(clause.sentence, at):
            continue
        share = len(rest & clause.words) / len(rest)
        whole = Clause(clause.sentence, 0, len(clause.sentence.tokens))
        if share < _HARD and not _says(whole, mine):
            clause = whole
            share = len(rest & clause.words) / len(rest)
        fits = share >= _SOFT if len(rest) > _FEWEST else share == 1.0
        if fits and _stand_alike(claimed, place, clause, at):
            yield share, mine, theirs


def _stand_alike(claimed: Sentence, place: int, clause: Clause, at: int) -> bool:
    """Whether the two opposites have a word near them in common, and the common words stand in the same order."""
    stems = clause.sentence.stems
    before, after = list(filter(None, claimed.stems[:place])), list(filter(None, claimed.stems[place + 1 :]))
    left, right = list(filter(None, stems[clause.start : at])), list(filter(None, stems[at + 1 : clause.end]))
    if not {*before[-_AROUND:], *after[:_AROUND]} & {*left[-_AROUND:], *right[:_AROUND]}:
        return False
    ours, theirs = [*before, "", *after], [*left, "", *right]
    return common_length(ours, theirs) >= _IN_ORDER * len(set(ours) & set(theirs))


def agree_by_denial(one: Sentence, other: Sentence) -> bool:
    """Whether one denies the opposite of what the other says: "did not fall" and "rose"."""
    mine = [place for place, token in enumerate(one.tokens) if token in SIDES]
    theirs = [place for place, token in enumerate(other.tokens) if token in SIDES] if mine else []
    return any(
        oppose(one.tokens[here], other.tokens[there]) and _is_denied(one, here) != _is_denied(other, there)
        for here in mine[:_MOST]
        for there in theirs[:_MOST]
    )


def oppose(one: str, other: str) -> bool:
    """Whether the two words are on different sides of a row, and on no side together."""
    if one not in SIDES or other not in SIDES or one == other:
        return False
    mine, theirs = SIDES[one], SIDES[other]
    return not mine & theirs and not {side.row for side in mine}.isdisjoint(side.row for side in theirs)


def _says(clause: Clause, word: str) -> bool:
    """Whether the clause has the word or another of its side."""
    return any(token in SIDES and SIDES[token] & SIDES[word] for token in clause.tokens)


def _is_denied(sentence: Sentence, place: int) -> bool:
    """Whether a negation turns the word round: one shortly before it, or the next word, as in "with no hands"."""
    around = (*sentence.tokens[max(place - _DENIED, 0) : place], *sentence.tokens[place + 1 : place + 2])
    return any(map(denies, around))


def _split(sentence: Sentence) -> list[Clause]:
    ends = [-1, *(place for place, token in enumerate(sentence.tokens) if token in _ENDS), len(sentence.tokens)]
    return [Clause(sentence, start + 1, end) for start, end in pairwise(ends) if end > start + 1]
