"""The numbers of a text with what they count: value, scale, unit, and how exactly they are meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from veridical.checks.measures import GLUED_ONLY, SPELLINGS
from veridical.checks.numerals import ONES, ORDINALS, SCALES, SHORT_SCALES, TENS, read_digits
from veridical.checks.words import STOP_WORDS, listed
from veridical.types import Span

_TOKEN = re.compile(
    r"(?<![\d.,])\d{1,3}(?:[ \xa0\u2009\u202f]\d{3})+(?![.,]?\d)"  # 10 000
    r"|\d+(?:[.,]\d+)*|[^\W\d_]+[²³]?|[^\w\s]|_|\w"
)
_CURRENCIES = frozenset("$€£¥₹")
_CURRENCY_CODES = frozenset({"usd", "eur", "gbp", "jpy", "inr", "cny", "rmb", "chf", "rs"})
_DASHES = frozenset("-‐‑‒–—−")
_JOINS = frozenset({"-", "‑", "–", "—", "to", "and", "or"})
_BEFORE_YEARS = frozenset({"mid", "early", "late", "pre", "post"})
_SUFFIXES = frozenset({"st", "nd", "rd", "th"})
_ABBREVIATED_SCALES = {"mln": "million", "bln": "billion", "mn": "million", "bn": "billion", "tn": "trillion"}
_MONEY_SCALES = {"m": "million", "b": "billion", "k": "thousand"}
_LONGEST_UNIT = 4  # tokens, as in "light - years"


_UNIT_STARTS = frozenset(spelling.split()[0] for spelling in SPELLINGS)


class Hedge(Enum):
    """How a number is meant."""

    EXACT = "exact"
    ABOUT = "about"
    OVER = "over"
    UNDER = "under"
    NEARLY = "nearly"


_HEDGES = (
    dict.fromkeys(listed("about around approximately approx roughly some circa ca estimated ~ ≈ ∼"), Hedge.ABOUT)
    | dict.fromkeys(listed("over above exceeding exceeds exceeded than least upwards > ≥"), Hedge.OVER)
    | dict.fromkeys(listed("nearly almost"), Hedge.NEARLY)
    | dict.fromkeys(listed("under below most maximum < ≤ within"), Hedge.UNDER)
)
_LESS = frozenset({"less", "fewer", "lower", "smaller", "younger", "shorter", "no"})


_BEFORE_A_YEAR = frozenset(
    listed("""
    in since until till during year years before after by from circa early late mid spring summer autumn winter fall ©
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec
    """)
)
_BETWEEN_YEARS = frozenset({"to", "and", "or", "/", ",", "-", "‐", "‑", "–", "—"})
# Things that are counted, never the company of a year: "1987 people".
_COUNTED = frozenset(
    listed("""
    people persons employees workers staff inhabitants residents members students pupils soldiers men women children
    patients visitors users customers houses homes jobs units copies cars votes seats
    """)
)


class Token(NamedTuple):
    text: str  # in lower case
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number. `values` and `units` hold every reading of an ambiguous spelling, the likeliest first.

    `mantissa` is the number before its scale: 3 in "3 million". A `code` is part of a name, as in COVID-19.
    """

    span: Span
    text: str
    values: tuple[float, ...]
    mantissa: float
    scale: str = ""
    units: tuple[str, ...] = ()
    hedge: Hedge = Hedge.EXACT
    spelled: bool = False
    ordinal: bool = False
    code: bool = False
    between: tuple[float, float] | None = None  # "between 10 and 12" says no more than that it lies there
    noun: str = ""  # the word behind it, which it may count
    dated: bool = False  # whether it stands where a year stands: "in 1987"

    @property
    def is_year(self) -> bool:
        plain = not (self.units or self.scale or self.spelled or self.ordinal)
        counts = self.noun in _COUNTED and not self.dated
        bare = plain and not counts and self.hedge is Hedge.EXACT
        return bare and 1000 <= self.mantissa < 2200 and self.text.isdecimal()


def split_tokens(text: str) -> list[Token]:
    return [Token(match[0].lower(), *match.span()) for match in _TOKEN.finditer(text)]


def read_quantities(text: str) -> list[Quantity]:
    """Every number of `text`, in order."""
    tokens = split_tokens(text)
    return _share_units(text, list(_read(text, tokens)))


def _read(text: str, tokens: Sequence[Token]) -> Iterator[Quantity]:
    at = 0
    year_ends = -1  # the token behind the last number that stood as a year
    while at < len(tokens):
        first, token = at, tokens[at]
        if token.text[0].isdecimal():
            quantity, at = _read_digits(text, tokens, at)
        elif token.text in ONES or token.text in TENS or token.text in ORDINALS or token.text in SCALES:
            quantity, at = _read_spelled(text, tokens, at)
        else:
            quantity, at = None, at + 1
        if quantity:
            linked = year_ends == first - 1 and tokens[first - 1].text in _BETWEEN_YEARS
            placed = linked or bool(first and tokens[first - 1].text in _BEFORE_A_YEAR)
            dated = placed and 1500 <= quantity.mantissa <= 2100 and quantity.text.isdecimal()
            year_ends = at if dated else -1
            noun = _noun(text, tokens, at)
            if noun or dated:
                quantity = replace(quantity, noun=noun, dated=dated)
            yield quantity


def _noun(text: str, tokens: Sequence[Token], at: int) -> str:
    """The word that follows a number with nothing but space or a hyphen between them; empty for a function word."""
    step = _skip_dash(tokens, at)
    if step >= len(tokens) or not tokens[step].text[0].isalpha() or tokens[step].text in STOP_WORDS:
        return ""
    parted = text[tokens[at - 1].end : tokens[at].start].strip(" \xa0")
    return "" if parted else tokens[step].text


def _read_digits(text: str, tokens: Sequence[Token], at: int) -> tuple[Quantity | None, int]:
    token = tokens[at]
    values = read_digits(token.text)
    code = _is_in_code(tokens, at) or not values
    if not values:  # 3.10.2 or a telephone number: its parts are there for a claim that names one of them
        parts = [float(part) for part in re.split(r"[.,]", token.text) if len(part) <= 15]
        if not parts:
            return None, at + 1
        values = tuple(parts)
    quantity = Quantity(Span(token.start, token.end), token.text, values, values[0], code=code)
    suffix = tokens[at + 1] if at + 1 < len(tokens) and tokens[at + 1].start == token.end else None
    if suffix and suffix.text in _SUFFIXES:
        span = Span(token.start, suffix.end)
        return replace(quantity, span=span, text=span.of(text), ordinal=True), at + 2
    if suffix and suffix.text in SHORT_SCALES:
        return _with_short_scale(text, tokens, at, quantity)
    return _with_scale_and_unit(text, tokens, at, at + 1, quantity)


def _is_in_code(tokens: Sequence[Token], at: int) -> bool:
    """Whether the number touches letters: H1N1, COVID-19, 3D; units, scales and ordinals do not count."""
    number = tokens[at]
    if at and tokens[at - 1].end == number.start:
        before = tokens[at - 1]
        if before.text[0].isalpha() or before.text in "_#/.":
            return before.text not in _CURRENCY_CODES
        joined = at > 1 and tokens[at - 2].end == before.start and before.text in _DASHES
        if joined and tokens[at - 2].text[0].isalpha() and tokens[at - 2].text not in _BEFORE_YEARS:
            return tokens[at - 2].text not in _NUMBER_WORDS
    if at + 1 < len(tokens) and tokens[at + 1].start == number.end:
        after = tokens[at + 1].text
        known = after in SPELLINGS or after in SHORT_SCALES or after in SCALES or after in _SUFFIXES
        return (after[0].isalpha() or after == "_") and not known and after not in {"s", "x", "am", "pm"}
    return False


_NUMBER_WORDS = frozenset(ONES) | frozenset(TENS) | frozenset({"to", "and", "or"})


def _with_short_scale(text: str, tokens: Sequence[Token], at: int, quantity: Quantity) -> tuple[Quantity, int]:
    """1.2k, $5m; without a currency "5m" may as well be metres."""
    suffix = tokens[at + 1]
    scale = SHORT_SCALES[suffix.text]
    money = _currency_before(tokens, at)
    scaled = tuple(value * SCALES[scale] for value in quantity.values)
    units = SPELLINGS.get(money, ()) if money else SPELLINGS.get(suffix.text, ())
    span = Span(_start(tokens, at), suffix.end)
    values = scaled if money or not units else (*quantity.values, *scaled)
    named = replace(quantity, span=span, text=span.of(text), values=values, scale=scale if money else "")
    return replace(named, units=units if money else (), hedge=_hedge_before(tokens, at)), at + 2


def _with_scale_and_unit(
    text: str, tokens: Sequence[Token], first: int, after: int, quantity: Quantity
) -> tuple[Quantity, int]:
    """Reads on from `after`: scale words, then a unit; a currency may stand before `first`."""
    values, scale = quantity.values, quantity.scale
    while (step := _skip_dash(tokens, after)) < len(tokens) and (word := _scale(tokens[step].text)):
        scale = word
        values = tuple(value * SCALES[scale] for value in values)
        after = step + 1
    money = _currency_before(tokens, first)
    if money and not scale and after < len(tokens) and tokens[after].text in _MONEY_SCALES:  # "$5 m"
        scale = _MONEY_SCALES[tokens[after].text]
        values, after = tuple(value * SCALES[scale] for value in values), after + 1
    units, after = (SPELLINGS[money], after) if money in SPELLINGS else _read_unit(tokens, after)
    span = Span(_start(tokens, first), tokens[after - 1].end)
    hedge = _hedge_before(tokens, first)
    if hedge is Hedge.EXACT and after < len(tokens):
        hedge = Hedge.OVER if tokens[after].text == "+" else hedge
    found = replace(quantity, span=span, text=span.of(text), values=values, scale=scale, units=units, hedge=hedge)
    return found, after


def _read_spelled(text: str, tokens: Sequence[Token], at: int) -> tuple[Quantity | None, int]:
    first, total, current, ordinal, scale = at, 0.0, 0.0, False, ""
    mantissa = 0.0
    while at < len(tokens):
        step = _skip_joiner(tokens, at) if at > first else at
        word = tokens[step].text if step < len(tokens) else ""
        small = ONES.get(word, TENS.get(word, ORDINALS.get(word)))
        if small is not None and _fits(current, small, at == first):
            current += small
            ordinal = word in ORDINALS
        elif word == "hundred" and (current or at == first):
            current = (current or 1.0) * 100
        elif word in SCALES and word != "hundred" and (current or at == first):
            mantissa, scale = current or 1.0, word
            total, current = total + (current or 1.0) * SCALES[word], 0.0
        else:
            break
        at = step + 1
        if ordinal:
            break
    span = Span(tokens[first].start, tokens[at - 1].end)
    value = total + current
    if current and scale:
        mantissa, scale = value, ""
    found = Quantity(span, span.of(text), (value,), mantissa or value, scale, spelled=True, ordinal=ordinal)
    bare_scale = first == at - 1 and tokens[first].text in SCALES
    if bare_scale and not (first and tokens[first - 1].text in {"a", "one"}):
        return None, at  # "million" in a table's head counts nothing
    return (found, at) if ordinal else _with_scale_and_unit(text, tokens, first, at, found)


def _fits(current: float, small: float, opening: bool) -> bool:
    """Whether a number word goes on with the number: "twenty" + "one", "two hundred" + "fifty", not "two" + "three"."""
    if opening:
        return True
    if small < 10 and 20 <= current % 100 <= 90 and current % 10 == 0:
        return True
    return small < 100 and current % 100 == 0


def _skip_joiner(tokens: Sequence[Token], at: int) -> int:
    """Past a hyphen or an "and" between two number words."""
    if at < len(tokens) and (tokens[at].text in _DASHES or tokens[at].text == "and"):
        follows = tokens[at + 1].text if at + 1 < len(tokens) else ""
        after_hundred = tokens[at - 1].text in SCALES
        if tokens[at].text != "and" or (after_hundred and (follows in ONES or follows in TENS)):
            return at + 1
    return at


def _scale(word: str) -> str:
    return word if word in SCALES else _ABBREVIATED_SCALES.get(word, "")


def _skip_dash(tokens: Sequence[Token], at: int) -> int:
    glued = at + 1 < len(tokens) and tokens[at].text in _DASHES and tokens[at].end == tokens[at + 1].start
    return at + 1 if glued else at


def _read_unit(tokens: Sequence[Token], at: int) -> tuple[tuple[str, ...], int]:
    start = _skip_dash(tokens, at)
    if start == len(tokens) or tokens[start].text not in _UNIT_STARTS:
        return (), at
    for length in range(min(_LONGEST_UNIT, len(tokens) - start), 0, -1):
        name = " ".join(token.text for token in tokens[start : start + length])
        glued = start == at and tokens[start].start == tokens[at - 1].end
        if name in SPELLINGS and name not in _CURRENCIES and (glued or _stands_apart(tokens, start, name)):
            return SPELLINGS[name], start + length
    return (), at


def _stands_apart(tokens: Sequence[Token], at: int, name: str) -> bool:
    """Whether a unit may be read apart from its number: a lone letter only where it is no initial or abbreviation."""
    if name in GLUED_ONLY:
        return False
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    touches = after is not None and after.start == tokens[at].end
    return len(name) > 1 or not (touches and after is not None and after.text in {"'", "’", "&", "="})


def _currency_before(tokens: Sequence[Token], at: int) -> str:
    if at and (tokens[at - 1].text in _CURRENCIES or tokens[at - 1].text in _CURRENCY_CODES):
        return tokens[at - 1].text
    return ""


def _start(tokens: Sequence[Token], at: int) -> int:
    return tokens[at - 1].start if _currency_before(tokens, at) else tokens[at].start


def _hedge_before(tokens: Sequence[Token], at: int) -> Hedge:
    """The hedge in the three tokens before a number: "more than $", "at least", "about"."""
    at -= 1 if _currency_before(tokens, at) else 0
    nearest = [token.text for token in tokens[max(at - 3, 0) : at]][::-1]
    for place, word in enumerate(nearest):
        if word in _HEDGES:
            hedge = _HEDGES[word]
            before = nearest[place + 1] if place + 1 < len(nearest) else ""
            return Hedge.UNDER if word == "than" and before in _LESS else hedge
        if word == "to" and nearest[place + 1 : place + 2] == ["up"]:
            return Hedge.UNDER
        if word == "to" and nearest[place + 1 : place + 2] == ["close"]:
            return Hedge.ABOUT
        if word not in {"a", "an", "the", "of", "as", "many", "by", "us", "at"}:
            break
    return Hedge.EXACT


def _share_units(text: str, found: list[Quantity]) -> list[Quantity]:
    """In "5–10 million" and "3 to 4 km" the first number has the scale and unit of the second."""
    shared = found[:1]
    for number in found[1:]:
        before, after = shared[-1], number
        between = text[before.span.end : after.span.start].strip().lower()
        bare = not (before.scale or before.ordinal or before.dated) and (not before.units or after.scale)
        if bare and between in _JOINS and (after.scale or after.units):
            factor = SCALES.get(after.scale, 1.0)
            values = (*(value * factor for value in before.values), *before.values)
            before = replace(before, values=values, scale=after.scale, units=before.units or after.units)
        opening = text[max(before.span.start - 12, 0) : before.span.start]
        if between == "and" and opening.rstrip().lower().endswith("between"):
            limits = (before.values[0], after.values[0])
            before, after = replace(before, between=limits), replace(after, between=limits)
        shared[-1:] = [before, after]
    return shared
