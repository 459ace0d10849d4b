"""Dates: a claim's day, month and year must stand together in the passage, however either is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from veridical.types import Finding, Span

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
# Text taken from pages runs words together: "NewsMay 1".
_NAMED = re.compile(rf"(?:\b|(?<=[^\W\d_])(?=(?-i:[A-Z]))){_MONTH}\b", re.IGNORECASE)
_DAY_MONTH = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?[\s-]+(?P<month>{_MONTH})\b\.?(?:,?[\s-]+(?P<year>\d{{4}})\b)?",
    re.IGNORECASE,
)
_MONTH_DAY = re.compile(
    rf"\b(?P<month>{_MONTH})\b\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.,]\d)(?:,?\s+(?P<year>\d{{4}})\b)?",
    re.IGNORECASE,
)
_MONTH_YEAR = re.compile(rf"\b(?P<month>{_MONTH})\b\.?,?\s+(?:of\s+)?(?P<year>\d{{4}})\b", re.IGNORECASE)
_IN_MONTH = re.compile(
    rf"\b(?:in|since|until|last|next|early|late|mid)[\s-](?P<month>{_MONTH})\b(?!\s*\d)", re.IGNORECASE
)
_ISO = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_NUMERIC = re.compile(r"(?<![\d/.-])(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-])")
_DECADE = re.compile(r"(?<!\d)(\d{3})0['’]?s\b")
_SHORT_DECADE = re.compile(r"['’‘]?\b\d0['’]?s\b")
_CENTURY = re.compile(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)(?:\s*[-–]\s*|\s+)(?:century|centuries)\b", re.IGNORECASE)
_YEAR_RANGE = re.compile(r"(?<!\d)(\d{2})\d{2}\s*[-–/]\s*(\d{2})(?!\d)")
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2}):([0-5]\d)(?![\d:])")
_HOUR = re.compile(r"(?<![\d:])(\d{1,2})(?:[:.]([0-5]\d))?\s*(?:[ap]\.?m\b|o['’]clock)", re.IGNORECASE)
_NEAR_BEFORE = re.compile(r"(?:\d{1,2}(?:st|nd|rd|th)?|\d{4}|\b(?:of|and|to|the|or)\b|[\s,&–—/-])+$", re.IGNORECASE)
_NEAR_AFTER = re.compile(r"\.?(?:\d{4}|\d{1,2}(?:st|nd|rd|th)?|\b(?:of|and|to|the|or)\b|[\s,&–—/-])+", re.IGNORECASE)
_LOOSE_ENDS = re.compile(r"^(?:\W|\b(?:of|and|to|the|or)\b)+|(?:\W|\b(?:of|and|to|the|or)\b)+$", re.IGNORECASE)
_SHORT_YEAR = re.compile(r"\.?[\s-]+['’]?(\d{2})(?!\d)")
_DIGITS = re.compile(r"\d+")


class Day(NamedTuple):
    """A date as far as it is known; 0 stands for what is not."""

    year: int = 0
    month: int = 0
    day: int = 0


class Mention(NamedTuple):
    span: Span
    readings: tuple[Day, ...]


class Calendar:
    """The dates of a text: every pairing of day, month and year that stands together."""

    def __init__(self, text: str) -> None:
        self.years = {int(digits) for digits in set(_DIGITS.findall(text)) if len(digits) == 4}
        self.years |= {int(century + end) for century, end in _YEAR_RANGE.findall(text)}
        self._text = text
        self._days: dict[Day, Span] = {}
        for span, days, years, month in _read_months(text):
            self._note(span, [Day(year, month, day) for day in (0, *days) for year in (0, *years)])
            if not years:  # "On 12 March … of 1987": the year may stand anywhere
                self._note(span, [Day(-1, month, day) for day in (0, *days)])
        for mention in _read_numeric(text):
            for year, month, day in mention.readings:
                parts = [Day(year, month, day), Day(0, month, day), Day(year, month, 0), Day(0, month, 0)]
                self._note(mention.span, parts)
                self.years.add(year)
        self.clock = {(int(hour) % 12, int(minute)) for hour, minute in _CLOCK.findall(text)}
        self.clock |= {(int(hour) % 12, int(minute or 0)) for hour, minute in _HOUR.findall(text)}

    def _note(self, span: Span, days: list[Day]) -> None:
        for day in days:
            self._days.setdefault(day, span)

    def hold(self, day: Day) -> bool:
        if not day.month:
            return day.year in self.years
        return day in self._days or (day.year in self.years and day._replace(year=-1) in self._days)

    def spans(self, length: float) -> bool:
        """Whether two days here lie `length` days apart, or make that many with both counted; years are not read."""
        numbers = {_number(day) for day in self._days if day.month and day.day}
        return any((number + gap) % 366 in numbers for number in numbers for gap in (length, length - 1) if gap >= 1)

    def rival(self, day: Day) -> str:
        """What the text says instead: the same year and month with another day, or the same day of another year."""
        if not (day.day and day.year):
            return ""
        others = [day._replace(day=other) for other in range(1, 32)]
        span = next((self._days[other] for other in (*others, day._replace(year=0)) if other in self._days), Span(0, 0))
        return _LOOSE_ENDS.sub("", span.of(self._text))


def find_dates(claim: str, evidence: str) -> tuple[list[Finding], list[Span]]:
    """The dates of the claim that the evidence does not hold, in order, and where the claim has dates at all."""
    mentions = [*_read_named(claim), *_read_numeric(claim)]
    spans = [mention.span for mention in mentions]
    if not mentions and not any(pattern.search(claim) for pattern in (_DECADE, _SHORT_DECADE, _CENTURY, _CLOCK)):
        return [], []
    calendar = Calendar(evidence)
    findings = [
        _absent(claim, mention, calendar)
        for mention in mentions
        if not any(calendar.hold(reading) for reading in mention.readings)
    ]
    for span, held in _read_ages(claim, evidence, calendar):
        spans.append(span)
        if not held:
            findings.append(_missing(span.of(claim)))
    return findings, spans


def _absent(claim: str, mention: Mention, calendar: Calendar) -> Finding:
    text = mention.span.of(claim).rstrip(" .,")
    rival = next(filter(None, map(calendar.rival, mention.readings)), "")
    if rival and rival.lower() != text.lower():
        return Finding("date", text, f"the passage says {rival}, the claim {text}")
    return _missing(text)


def _missing(text: str) -> Finding:
    return Finding("date", text, f"{text} is not in the cited passage")


def _number(day: Day) -> int:
    """The number of a day in a leap year, from 0."""
    lengths = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return sum(lengths[: day.month - 1]) + day.day - 1


def _month_number(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _read_named(text: str) -> Iterator[Mention]:
    """Dates with the month in letters; no two overlap."""
    end = 0
    found = [match for pattern in (_DAY_MONTH, _MONTH_DAY, _MONTH_YEAR, _IN_MONTH) for match in pattern.finditer(text)]
    for match in sorted(found, key=lambda match: (match.start(), -match.end())):
        if match.start() < end:
            continue
        parts = match.groupdict()
        day = Day(int(parts.get("year") or 0), _month_number(parts["month"]), int(parts.get("day") or 0))
        if day.day <= 31:
            end = match.end()
            start = match.start("month") if match.re is _IN_MONTH else match.start()
            yield Mention(Span(start, end), (day,))


def _read_numeric(text: str) -> Iterator[Mention]:
    """1987-03-12, and 12/03/1987 read both ways; what is no date either way is left alone."""
    for match in _ISO.finditer(text):
        year, month, day = (int(part) for part in match.groups())
        if 1 <= month <= 12 and 1 <= day <= 31:
            yield Mention(Span(*match.span()), (Day(year, month, day),))
    for match in _NUMERIC.finditer(text):
        one, other, year = int(match[1]), int(match[3]), int(match[4])
        years = (year,) if year > 99 else (1900 + year, 2000 + year)
        readings = [(month, day) for month, day in ((one, other), (other, one)) if 1 <= month <= 12 and 1 <= day <= 31]
        if readings:
            days = tuple(Day(year, month, day) for year in years for month, day in readings)
            yield Mention(Span(*match.span()), days)


def _read_months(text: str) -> Iterator[tuple[Span, list[int], list[int], int]]:
    """For each month that is named: where, with which days and years beside it ("12–15 March 1987" has four)."""
    for match in _NAMED.finditer(text):
        window = max(match.start() - 24, 0)
        before = _NEAR_BEFORE.search(text[window : match.start()])
        after = _NEAR_AFTER.match(text[match.end() : match.end() + 28])
        start = window + before.start() if before else match.start()
        end = match.end() + (after.end() if after else 0)
        beside = f"{before[0] if before else ''}|{text[match.end() : end]}"
        numbers = [int(digits) for digits in _DIGITS.findall(beside)]
        days = [number for number in numbers if 1 <= number <= 31]
        years = [number for number in numbers if 1000 <= number < 2200]
        short = _SHORT_YEAR.match(text, match.end())
        if short and before and days and not years:  # "15 Jul 19"
            years = [1900 + int(short[1]), 2000 + int(short[1])]
        yield Span(start, end), days, years, _month_number(match[0])


def _read_ages(claim: str, evidence: str, calendar: Calendar) -> Iterator[tuple[Span, bool]]:
    """Decades, centuries and times of day, with whether the evidence has one that fits."""
    lower = evidence.lower()
    for match in _DECADE.finditer(claim):
        first = int(match[1]) * 10
        length = 100 if first % 100 == 0 else 10  # "the 1800s" are a century
        named = f"{first % 100}s" in lower or (length == 100 and f"{first // 100 + 1}th" in lower.replace(" ", ""))
        yield Span(*match.span()), named or any(first <= year < first + length for year in calendar.years)
    for match in _SHORT_DECADE.finditer(claim):
        yield Span(*match.span()), True  # "in her 20s" is no date
    for match in _CENTURY.finditer(claim):
        first = (int(match[1]) - 1) * 100
        if any(first <= year <= first + 100 for year in calendar.years):
            yield Span(*match.span()), True
    for match in _CLOCK.finditer(claim):
        yield Span(*match.span()), (int(match[1]) % 12, int(match[2])) in calendar.clock
