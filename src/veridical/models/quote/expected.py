"""What kind of answer a question asks for, and whether a sentence offers one that the question did not bring."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum


class Kind(StrEnum):
    PERSON = "person"
    TIME = "time"
    PLACE = "place"
    NUMBER = "number"
    REASON = "reason"
    OPEN = "open"  # anything else: no expectation


_MEASURES = "number|percentage|percent|population|price|cost|height|length|speed|weight|age|amount|distance"
_EXTENTS = "many|much|long|old|far|tall|high|deep|wide|big|large|fast|heavy|often"
_PERIODS = "year|date|day|month|century|decade|time|season"
_REGIONS = "city|country|state|town|county|region|place|continent|island|river|village|province"
_ASKS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (Kind.NUMBER, re.compile(rf"\bhow (?:{_EXTENTS})\b", re.I)),
    (Kind.NUMBER, re.compile(rf"\bwhat (?:is |was |are |were )?(?:the )?(?:{_MEASURES})\b", re.I)),
    (Kind.TIME, re.compile(rf"\bwhen\b|\b(?:what|which) (?:\w+ )?(?:{_PERIODS})\b", re.I)),
    (Kind.PERSON, re.compile(r"\b(?:who|whom|whose)\b", re.I)),
    (Kind.PLACE, re.compile(rf"\bwhere\b|\b(?:what|which) (?:\w+ )?(?:{_REGIONS})\b", re.I)),
    (Kind.REASON, re.compile(r"\b(?:why|for what reason|what caused)\b", re.I)),
)

_DAY = (
    "January|February|March|April|May|June|July|August|September|October|November|December|"
    "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
)
_TIME = re.compile(
    rf"\b(?:{_DAY})\b|\b(?:1\d{{3}}|20\d\d)s?\b|\b\w+ (?:century|centuries)\b|\b\d{{1,2}}:\d\d\b|\bBCE?\b"
)
_COUNTED = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|twenty|thirty|forty|fifty|sixty|"
    "seventy|eighty|ninety|hundred|thousand|million|billion|dozen|half|once|twice|daily|weekly|yearly|annually"
)
_NUMBER = re.compile(rf"\d[\d.,]*|\b(?:{_COUNTED})s?\b", re.I)
_REASON = re.compile(
    r"\b(?:because|due to|since|so that|in order to|as a result|therefore|thanks to|caused|owing to|"
    r"to (?:avoid|prevent|allow|make))\b",
    re.I,
)
_NAME = re.compile(r"[^\W\d_a-zß-ÿ][\w'’.-]*(?: (?:of |the |de |la |van |von |bin |al-)?[^\W\d_a-zß-ÿ][\w'’.-]*)*")
_PLACE_LEAD = re.compile(r"\b(?:in|at|near|from|to|of|on|off|between|into|outside|inside|through)\s+(?:the\s+)?$", re.I)
_WORD = re.compile(r"\w+")


def kind_of(question: str) -> Kind:
    return next((kind for kind, asks in _ASKS if asks.search(question)), Kind.OPEN)


def offers(kind: Kind, sentence: str, question: str) -> bool:
    """Whether `sentence` holds something of this kind that `question` does not. Never for OPEN."""
    known = set(_WORD.findall(question.lower()))
    find = _FINDERS.get(kind)
    return find is not None and any(not set(_WORD.findall(found.lower())) <= known for found in find(sentence))


def numbers_in(sentence: str) -> frozenset[str]:
    """The figures in digits, without thousands separators."""
    return frozenset(found.rstrip(".,").replace(",", "") for found in re.findall(r"\d[\d.,]*", sentence))


def _people(sentence: str) -> list[str]:
    # A capital at the start of a sentence says nothing, unless a second capitalised word follows it.
    return [name.group() for name in _NAME.finditer(sentence) if name.start() > 0 or " " in name.group()]


def _places(sentence: str) -> list[str]:
    return [name.group() for name in _NAME.finditer(sentence) if _PLACE_LEAD.search(sentence[: name.start()])]


_FINDERS: dict[Kind, Callable[[str], list[str]]] = {
    Kind.PERSON: _people,
    Kind.PLACE: _places,
    Kind.TIME: _TIME.findall,
    Kind.NUMBER: _NUMBER.findall,
    Kind.REASON: _REASON.findall,
}
