"""What a text holds in numbers, made ready for many questions about one number each."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from veridical.checks.measures import MEASURES, convert
from veridical.checks.numerals import IMPLIED, ROMANS, SCALES, significant_digits
from veridical.checks.quantities import Hedge, Quantity, read_quantities

_WORD = re.compile(r"[^\W\d_]+")
_YEAR_RANGE = re.compile(r"(?<!\d)(\d{2})\d{2}\s*[-–/]\s*(\d{2})(?!\d)")
_LOOSE_DIGITS = re.compile(r"(?<=\d)([.,])\s(?=\d)")
# Keys beside the units: every number, one that stands alone, one with a noun behind it, a year, one in a word.
_ANY, _BARE, _COUNTING, _DATED, _IMPLIED = "any", "bare", "counting", "dated", "implied"
_PLAIN = (_BARE, _COUNTING, _IMPLIED)
# What is counted in these is often told without its unit or with another word for it.
_LOOSE = frozenset({"time", "money", "share", "bytes"})
_CONVERTED = 0.02  # 5 km are 3.1 miles
_ROUNDED = 0.05  # how far from the number "about" may lead
_SCALED = 0.01  # how far leaving out digits may lead before a scale: 4.83 million are 4.8 million
_NEARLY = 0.1
_EQUAL = 1e-9


class Figures:
    """The numbers of a text, sorted: for each unit, for numbers without one, and for all together."""

    def __init__(self, text: str) -> None:
        values: dict[str, set[float]] = defaultdict(set)
        self._written: dict[float, dict[tuple[str, ...], Quantity]] = defaultdict(dict)
        lower = text.lower()
        self._scales = {word for word in SCALES if word in lower}
        # Text from pages and tokenizers has "1, 056" and "2. 4 miles": read it both ways.
        closed = _LOOSE_DIGITS.sub(r"\1", text)
        for quantity in (*read_quantities(text), *(read_quantities(closed) if closed != text else ())):
            plain = _DATED if quantity.dated else _COUNTING if quantity.noun else _BARE
            for key in (_ANY, *(quantity.units or (plain,))):
                values[key].update(quantity.values)
            values[_ANY].add(quantity.mantissa)
            self._written[quantity.mantissa].setdefault((quantity.scale, *quantity.units), quantity)
        implied = set(_implied(text))
        for key in (_ANY, _IMPLIED):
            values[key] |= implied
        self._values = {key: sorted(found) for key, found in values.items()}
        unitless = values[_BARE] | values[_COUNTING] | values[_DATED] | values[_IMPLIED]
        self._years = sorted(value for value in unitless if 1000 <= value < 2200 and value.is_integer())
        self._units = [key for key in self._values if key in MEASURES]

    def hold(self, quantity: Quantity) -> bool:
        """Whether some number here can be the one that `quantity` names."""
        keys = _keys(quantity)
        if any(self._has(key, quantity, value) for key in keys for value in quantity.values):
            return True
        if any(self._has_converted(unit, quantity) for unit in quantity.units):
            return True
        if quantity.between and any(_any_between(self._values.get(key, []), *quantity.between) for key in keys):
            return True
        if "%" in quantity.units and any(
            self._near(key, value / 100, 0.0) for key in _PLAIN for value in quantity.values
        ):
            return True
        if "year" in quantity.units and any(self._spans_years(value) for value in quantity.values):
            return True
        # A table says "in millions" once for all its numbers.
        return quantity.scale in self._scales and any(self._near(key, quantity.mantissa, 0.0) for key in _PLAIN)

    def hold_year(self, low: float, high: float) -> bool:
        """Whether there is a year from `low` to `high`."""
        return _any_between(self._years, low, high)

    def written(self, mantissa: float) -> list[Quantity]:
        """The quantities whose number is `mantissa` before scale and unit, each scale and unit once."""
        return list(self._written.get(mantissa, {}).values())

    def _spans_years(self, length: float) -> bool:
        """Whether two years here lie `length` apart: "for five years" is in "from 1992 to 1997"."""
        return any(self.hold_year(year + length, year + length) for year in self._years)

    def _has(self, key: str, quantity: Quantity, value: float) -> bool:
        if self._near(key, value, 0.0):
            return True
        if quantity.is_year or value <= 0 or key == _IMPLIED:
            return False
        if quantity.units and key == _COUNTING:
            return False
        return _any_between(self._values.get(key, []), *_reach(quantity, value))

    def _has_converted(self, unit: str, quantity: Quantity) -> bool:
        for other in self._units:
            for value in quantity.values:
                converted = convert(value, unit, other) if other != unit else None
                if converted is None:
                    continue
                if self._near(other, converted, _CONVERTED) or self._rounds(other, converted):
                    return True
                if quantity.hedge is not Hedge.EXACT and self._has(other, quantity, converted):
                    return True
        return False

    def _rounds(self, unit: str, value: float) -> bool:
        """Whether a number from ten upwards was rounded to the next whole one when it was converted."""
        return abs(value) >= 10 and _any_between(self._values[unit], value - 0.5, value + 0.5)

    def _near(self, key: str, value: float, tolerance: float) -> bool:
        gap = abs(value) * max(tolerance, _EQUAL)
        return _any_between(self._values.get(key, []), value - gap, value + gap)


def _any_between(values: list[float], low: float, high: float) -> bool:
    at = bisect_left(values, low)
    return at < len(values) and values[at] <= high


def _reach(quantity: Quantity, value: float) -> tuple[float, float]:
    """From where to where a number may lie to be called `value`."""
    if quantity.hedge is Hedge.OVER:
        return value, 2 * value
    if quantity.hedge is Hedge.UNDER:
        return value / 2, value
    if quantity.hedge is Hedge.NEARLY:
        return value * (1 - _NEARLY), value
    place = 10.0 ** (math.floor(math.log10(value)) - significant_digits(value) + 1)
    widest = _ROUNDED * value
    # "around 1990" is a year more often than an amount.
    about = 0.01 * value if 1000 <= value < 2200 and "," not in quantity.text else widest
    exact = min(place / 2, _SCALED * value) if quantity.scale else 0.0
    gap = about if quantity.hedge is Hedge.ABOUT else exact
    return value - gap, value + gap


def _keys(quantity: Quantity) -> tuple[str, ...]:
    """Among which numbers of a passage a quantity is looked for."""
    if quantity.units:
        loose = any(MEASURES[unit].dimension in _LOOSE for unit in quantity.units)
        return (*quantity.units, _BARE, _IMPLIED, *([_COUNTING] if loose else []))
    if quantity.is_year or not quantity.noun:
        return (_ANY,)
    return _PLAIN


def _implied(text: str) -> Iterator[float]:
    """Numbers that no number word names: in "both", "World War II", "1914–18"."""
    for word in set(_WORD.findall(text)):
        yield from IMPLIED.get(word.lower(), ())
        if word in ROMANS:
            yield ROMANS[word]
    for century, end in _YEAR_RANGE.findall(text):
        yield float(century + end)
