"""Names: people, places and things that the claim names and the passage does not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from veridical.checks.words import STOP_WORDS, fold, listed, split_words
from veridical.types import Finding

_TOKEN = re.compile(r"[^\W\d_]+(?:[-'’.&](?=[^\W\d_])[^\W\d_]+)*\.?")
_BREAK = re.compile(r"[.!?:;•\n“\"‘(\[]")
_INSIDE = frozenset({"of", "de", "la", "le", "van", "von", "der", "den", "the", "and", "for", "du", "da", "del", "di"})
_SHORTEST = 3  # letters; below that a capital is an initial or a unit
_SHORTEST_STEM = 4
_NAME_ENDINGS = (
    "",
    *listed("a o y e en ey ia ay us is um n an ian ean ese ish ic nian vian egian i er ers ans ians"),
    *listed("s es ism ist ists ed ing al ally"),
)
# Nations whose adjective shares no four letters with them, and other names of one thing: the words of a row agree.
_KIN = (
    "france french frenchman frenchwoman",
    "spain spanish spaniard spaniards",
    "wales welsh",
    "netherlands dutch holland",
    "switzerland swiss",
    "denmark danish dane danes",
    "poland polish pole poles",
    "ireland irish",
    "finland finnish finn finns",
    "england english britain british briton britons uk kingdom",
    "america american americans us usa states",
    "thailand thai",
    "greece greek greeks",
    "philippines filipino filipinos philippine",
    "ussr soviet russia russian",
    "wwi wwii war",
)
_CALENDAR = frozenset(
    listed("""
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun
    """)
)
_TITLES = frozenset(
    listed("""
    mr mrs ms dr sir prof professor president king queen prince princess lord lady saint st general captain chapter
    minister senator governor judge bishop pope emperor section table figure version phase type grade bc ad bce ce am
    pm no vs etc eg ie ok dc inc ltd corp company co jr sr phd ag gmbh plc llc
    the a an i ii iii iv vi vii viii ix xi xii
    """)
)
_SAYING = frozenset(
    listed("""
    is was are were has had have did does said says won wrote became becomes joined died lived served founded played
    made began born directed starred released worked led moved married studied invented discovered argued announced
    signed opened met returned received described
    """)
)
_COMMON_ENDINGS = ("ly", "ing", "ed", "tion", "tions", "ment", "ments", "ness", "ists", "ers", "ity", "ies", "ism", "s")


class Word(NamedTuple):
    text: str
    opens: bool  # whether it opens a sentence, a quote or a bracket, where a capital says nothing
    joined: bool = True  # whether nothing but space parts it from the word before


def find_names(claim: str, evidence: str) -> Iterator[Finding]:
    """One finding for each run of capitalised words of which the evidence lacks some, in order, each run once."""
    if not any(character.isupper() for character in claim):
        return
    known = Known(evidence)
    seen: set[str] = set()
    for run in _read_names(claim, known):
        if known.acronyms & {_initials(run), _initials([word for word in run if word.lower() not in _INSIDE])}:
            continue
        name = _missing(run, known)
        if name and name not in seen:
            seen.add(name)
            yield Finding("name", name, f"“{name}” is not in the cited passage")


def _missing(run: Sequence[str], known: Known) -> str:
    """The part of a name from its first to its last word that is not known; empty when all is well."""
    places = [place for place, word in enumerate(run) if word not in _INSIDE and not known.has(word)]
    if not places or known.has_squeezed(run) or known.has_bare_surname(run):
        return ""
    return _strip_possessive(" ".join(run[places[0] : places[-1] + 1]))


def _strip_possessive(word: str) -> str:
    return word.removesuffix("'s").removesuffix("’s")


class Known:
    """The words of a text, made ready for asking whether a name is among them."""

    def __init__(self, text: str) -> None:
        self.words = set(split_words(text))
        tokens = _TOKEN.findall(text)
        self._squeezed = {fold(token).replace(".", "") for token in set(tokens)}
        spelled = self.words | self._squeezed
        self._kin = {kin for row in _KIN if spelled & set(row.split()) for kin in row.split()}
        capitals = [word for word in tokens if word[0].isupper()]
        self.acronyms = {word.rstrip(".") for word in capitals if word.isupper() and len(word) > 1}
        self._initials = _initials(capitals)
        names = ((before, after) for before, after in pairwise(tokens) if before[0].isupper() and after[0].isupper())
        self._with_forename = {fold(after).rstrip(".") for before, after in names if fold(before) not in STOP_WORDS}

    def has_squeezed(self, run: Sequence[str]) -> bool:
        """Whether the words of a name stand here as one, as addresses and brands write them."""
        return fold("".join(run)) in self.words

    def has_bare_surname(self, run: Sequence[str]) -> bool:
        """Whether a name's last word is here, and never behind another name that could be a rival's."""
        surname = fold(_strip_possessive(run[-1]))
        alone = surname in self.words and surname not in self._with_forename | _TITLES
        return 1 < len(run) <= 3 and alone

    def has(self, name: str) -> bool:
        parts = [part for piece in name.split("-") if piece[:1].isupper() for part in split_words(piece)]
        return all(self._has_word(part) for part in parts) or self._is_acronym(name) or self._is_squeezed(name)

    def _has_word(self, word: str) -> bool:
        if len(word) < _SHORTEST or word in self.words or word in self._kin or word in _CALENDAR | _TITLES:
            return True
        singular = word.removesuffix("s")
        return singular in self.words or f"{word}s" in self.words or self._has_kin(word)

    def _has_kin(self, word: str) -> bool:
        """Whether the passage has the word with another ending, as a land and its people: "Italy", "Italians"."""
        return any(
            stem + other in self.words
            for ending in _NAME_ENDINGS
            if word.endswith(ending) and len(stem := word.removesuffix(ending)) >= _SHORTEST_STEM
            for other in _NAME_ENDINGS
        )

    def _is_acronym(self, name: str) -> bool:
        letters = name.replace(".", "").removesuffix("s")
        return letters.isupper() and len(letters) <= 6 and letters in self._initials

    def _is_squeezed(self, name: str) -> bool:
        return fold(name).replace(".", "").replace("'s", "") in self._squeezed


def _initials(words: Sequence[str] | Iterator[str]) -> str:
    return "".join(word[0] for word in words).upper()


def _read_words(text: str) -> Iterator[Word]:
    end = 0
    opens = True
    for match in _TOKEN.finditer(text):
        opens = opens or bool(_BREAK.search(text, end, match.start()))
        yield Word(match[0], opens, not text[end : match.start()].strip())
        # "J." and "St." go on; any other full stop ends a sentence.
        opens = match[0].endswith(".") and len(match[0]) > 4
        end = match.end()


def _read_names(text: str, known: Known) -> Iterator[list[str]]:
    """Runs of capitalised words, without what a sentence's first capital says nothing about."""
    words = list(_read_words(text))
    inner = {word.text for word in words if not word.opens}
    run: list[str] = []
    for word, after in pairwise([*words, Word("", True)]):
        bare = word.text.rstrip(".")
        capital = bare[:1].isupper() and fold(bare) not in STOP_WORDS | {"not", "no"}
        if word.opens or not word.joined:
            yield from _close(run)
            run = []
        if word.opens:
            capital = capital and (bare in inner or _opens_with_name(bare, after, known))
        if capital or (run and bare in _INSIDE):
            run.append(bare)
        else:
            yield from _close(run)
            run = []
    yield from _close(run)


def _opens_with_name(word: str, after: Word, known: Known) -> bool:
    """Whether a sentence's first word is a name: more capitals follow, or a verb as names have it after them."""
    folded = fold(word)
    if after.text[:1].isupper() and after.joined and not after.opens:
        return True
    owner = folded.removesuffix("'s")
    if owner != folded:
        return owner not in STOP_WORDS and owner != "let"
    common = folded.endswith(_COMMON_ENDINGS) or folded in known.words
    return after.text in _SAYING and not common


def _close(run: list[str]) -> Iterator[list[str]]:
    while run and run[-1] in _INSIDE:
        run = run[:-1]
    if run:
        yield run
