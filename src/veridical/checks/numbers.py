"""Numbers that the claim names and the passage does not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from veridical.checks.dates import Calendar
from veridical.checks.figures import Figures
from veridical.checks.quantities import Quantity, read_quantities
from veridical.checks.units import find_unit
from veridical.types import Finding, Span

_BOUND = re.compile(r"\b(before|prior to|until|by|after|since)\s+(?:the\s+)?(?:year\s+)?$", re.IGNORECASE)
_EARLIER = frozenset({"before", "prior to", "until", "by"})


def find_numbers(claim: str, evidence: str, dated: Sequence[Span] = ()) -> Iterator[Finding]:
    """Findings of kind number, count (two or three of a thing), unit, or date (a bare year), in order.

    What lies in `dated` was read as a date.
    """
    taken = {place for span in dated for place in range(span.start, span.end)}
    telling = [
        quantity
        for quantity in read_quantities(claim)
        if not (quantity.span.start in taken or quantity.span.end - 1 in taken)
        and not (_says_little(quantity) or _is_bullet(claim, quantity))
    ]
    figures = Figures(evidence if telling else "")
    days = Calendar(evidence) if any("day" in quantity.units for quantity in telling) else None
    for quantity in telling:
        if figures.hold(quantity) or (quantity.is_year and _is_bound(claim, quantity, figures)):
            continue
        if "day" in quantity.units and days and any(map(days.spans, quantity.values)):
            continue
        absent = Finding(_kind(quantity), quantity.text, f"{quantity.text} is not in the cited passage")
        yield find_unit(quantity, figures) or absent


def _is_bullet(claim: str, quantity: Quantity) -> bool:
    """Whether the number opens a line of a list: "5) …", "2. …"."""
    opens = not claim[: quantity.span.start].rpartition("\n")[2].strip()
    return opens and claim[quantity.span.end : quantity.span.end + 2].rstrip() in {".", ")"}


def _kind(quantity: Quantity) -> str:
    if quantity.is_year:
        return "date"
    plain = not (quantity.units or quantity.scale or quantity.ordinal)
    # A reader counts to three in "Anna and her brother": the passage need not.
    return "count" if plain and quantity.values[0] in (2, 3) else "number"


def _is_bound(claim: str, year: Quantity, figures: Figures) -> bool:
    """Whether the claim says "before 1900" or "after 1900" and the passage has such a year."""
    bound = _BOUND.search(claim, max(year.span.start - 20, 0), year.span.start)
    if not bound:
        return False
    value = year.values[0]
    return figures.hold_year(0, value) if bound[1].lower() in _EARLIER else figures.hold_year(value, 2200)


def _says_little(quantity: Quantity) -> bool:
    """Codes, and numbers that count nothing more often than they do: "one of them", "the second", "1." in a list."""
    if quantity.code:
        return True
    plain = not quantity.units and not quantity.scale
    if quantity.ordinal and quantity.spelled:
        return quantity.values[0] <= 2
    return quantity.values[0] <= 1 and (plain or quantity.spelled)
