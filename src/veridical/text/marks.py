"""Citation marks: `[1]`, `[1][2]`, `[1, 2]` and `[1-3]` are read; `[1][2]` is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from veridical.types import Span

_MARK = re.compile(r"\[\s*\d{1,4}(?:\s*[-–,]\s*\d{1,4})*\s*\]")
_PART = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
_LONGEST_RANGE = 50  # "[1-9999]" is a model's noise, not a citation of 9,999 passages


def parse_marks(text: str) -> tuple[int, ...]:
    """The numbers cited in `text`, in order of first appearance, each once."""
    numbers: dict[int, None] = {}
    for mark in _MARK.finditer(text):
        for low, high in _PART.findall(mark.group()):
            first, last = int(low), int(high or low)
            if last - first <= _LONGEST_RANGE:
                numbers.update(dict.fromkeys(range(first, last + 1)))
    return tuple(numbers)


def mark_spans(text: str) -> list[Span]:
    """Where the marks stand in `text`, in order."""
    return [Span(*mark.span()) for mark in _MARK.finditer(text)]


def format_marks(numbers: Iterable[int]) -> str:
    return "".join(f"[{number}]" for number in numbers)


def strip_marks(text: str) -> str:
    """`text` without its marks and without the space each leaves in front of punctuation."""
    bare = _MARK.sub("", text)
    return re.sub(r"[ \t]{2,}", " ", re.sub(r"\s+([.,;:!?])", r"\1", bare)).strip()


def keep_valid_marks(text: str, passages: int) -> tuple[str, int]:
    """Rewrites every mark in canonical form, without numbers outside 1..passages; also how many were removed."""
    removed = 0

    def rewrite(mark: re.Match[str]) -> str:
        nonlocal removed
        numbers = parse_marks(mark.group())
        valid = [n for n in numbers if 1 <= n <= passages]
        removed += max(len(numbers), 1) - len(valid) if len(valid) < max(len(numbers), 1) else 0
        return format_marks(valid)

    clean = _MARK.sub(rewrite, text)
    if removed:
        clean = re.sub(r"[ \t]+([.,;:!?])", r"\1", clean)
    return clean, removed


def renumber_marks(text: str, new_number: Callable[[int], int]) -> str:
    """Every mark's numbers passed through `new_number`."""
    return _MARK.sub(lambda mark: format_marks(new_number(n) for n in parse_marks(mark.group())), text)
