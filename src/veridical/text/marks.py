"""Citation marks: `[1]`, `[1][2]`, `[1, 2]` and `[1-3]` are read; `[1][2]` is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from veridical.types import Span

_MARK = re.compile(r"\[\s*\d{1,4}(?:\s*[-–,]\s*\d{1,4})*\s*\]")
_SPACED_MARK = re.compile(rf"(\s*)({_MARK.pattern})")
_RUN = re.compile(rf"({_MARK.pattern}(?:\s*{_MARK.pattern})*)(\s*)")
_ENDING = re.compile(r"[.,;:!?](?!\w)")
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
    """`text` without its marks, and without the space that a mark left behind; trimmed."""
    return _rewrite_marks(text, lambda _: "").strip()


def keep_valid_marks(text: str, passages: int) -> tuple[str, int]:
    """Rewrites every mark in canonical form, without numbers outside 1..passages; also how many were removed."""
    removed = 0

    def rewrite(mark: str) -> str:
        nonlocal removed
        numbers = parse_marks(mark)
        valid = [n for n in numbers if 1 <= n <= passages]
        removed += max(len(numbers), 1) - len(valid) if len(valid) < max(len(numbers), 1) else 0
        return format_marks(valid)

    clean = _rewrite_marks(text, rewrite)
    while removed and clean != (again := _rewrite_marks(clean, rewrite)):  # "[[9]1]" without [9] is a mark itself
        clean = again
    return clean, removed


def _rewrite_marks(text: str, rewrite: Callable[[str], str]) -> str:
    """Each run of marks with its marks rewritten; where nothing is left of it, the space of one side goes with it.

    None stays in front of punctuation that ends something: "fell [1]." is "fell.", but "use [1] .NET" is "use .NET".
    """
    pieces: list[str] = []
    copied = 0
    for run in _RUN.finditer(text):
        head = text[copied : run.start()]
        marks, after = run.groups()
        parts = [(gap, rewrite(mark)) for gap, mark in _SPACED_MARK.findall(marks)]
        kept = "".join(gap + mark for gap, mark in parts if mark)
        if kept:
            pieces += [head, kept if parts[0][1] else kept.lstrip(), after]
        else:
            body = head.rstrip()
            pieces += [body, _space_left(head[len(body) :], after, ending=bool(_ENDING.match(text, run.end())))]
        copied = run.end()
    return "".join((*pieces, text[copied:]))


def _space_left(before: str, after: str, *, ending: bool) -> str:
    if "\n" in after or "\n" in before:  # a line or a paragraph ends here
        return after if "\n" in after else before
    return "" if ending else before or after


def renumber_marks(text: str, new_number: Callable[[int], int]) -> str:
    """Every mark's numbers passed through `new_number`."""
    return _MARK.sub(lambda mark: format_marks(new_number(n) for n in parse_marks(mark.group())), text)
