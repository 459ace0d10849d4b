"""Which lines of a PDF are headings: short ones, set larger than the text, or bold with space above."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from veridical.corpus.read.paragraphs import Line, full_line, join_lines

_LARGER = 1.15  # times the text's size
_SPACE_ABOVE = 1.25  # times the usual distance of two lines
_SAME_HEADING = 1.8  # times its size: lines further apart are two headings
_LONGEST = 120  # characters
_MOST_LINES = 3
_DEEPEST = 3
_MOST_SHARE = 0.25  # of a document's characters: more is no sign of headings but of a poster, or of large print
_WORD = re.compile(r"[^\W\d_]{2}|[\u3040-\u9fff\uac00-\ud7af]")
_NUMBERED = re.compile(r"\d{1,2}(?:\.\d{1,2})*\.?\s")
_CONTENTS = re.compile(r"(?:[.…] ?){3}")  # the dots before a page number
_UNFINISHED = (",", ";", "\xad")
_SENTENCE_END = (".", ":", *_UNFINISHED)
_BOLD = 0.0  # the style of headings that are no larger than the text


class Block(NamedTuple):
    """A heading of level 1 (highest) to 3, or with level 0 the paragraphs between two headings."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class _Body:
    """How the text between the headings is set. `size` 0: nobody knows."""

    size: float
    drop: float
    bold: bool

    @classmethod
    def of(cls, lines: Sequence[Line]) -> _Body:
        sizes = sorted((line.size, len(line.text)) for line in lines if line.size)
        total = sum(length for _, length in sizes)
        size, passed = 0.0, 0
        for size, length in sizes:  # noqa: B007 (the size where half of the characters have passed)
            passed += length
            if passed * 2 >= total:
                break
        bold = sum(len(line.text) for line in lines if line.bold) > _MOST_SHARE * total
        return cls(size, median([line.drop for line in lines if line.drop] or [0.0]), bold)

    def style(self, line: Line) -> float | None:
        """The size of a line that could be a heading or go on with one; None for text."""
        if not (self.size and line.size and len(line.text) <= _LONGEST and _WORD.search(line.text)):
            return None
        if _CONTENTS.search(line.text):
            return None
        if line.size >= _LARGER * self.size:
            return None if line.text.endswith(_UNFINISHED) else round(line.size * 2) / 2
        bold = line.bold and not self.bold and line.size > 0.95 * self.size
        return _BOLD if bold and not line.text.endswith(_SENTENCE_END) else None

    def begins(self, line: Line, style: float) -> bool:
        """Whether a line of that style may begin a heading."""
        return style != _BOLD or not line.drop or line.drop > _SPACE_ABOVE * self.drop


class _Group(NamedTuple):
    """Neighbouring lines of a page that are one heading, or text (`style` None)."""

    style: float | None
    lines: list[Line]


def find_blocks(pages: Sequence[Sequence[Line]]) -> list[list[Block]]:
    """Every page's headings and paragraphs, in their order. Without clear differences in size there are no headings."""
    every = [line for lines in pages for line in lines]
    body = _Body.of(every)
    grouped = [_group(lines, body) for lines in pages]
    levels = _levels([group for groups in grouped for group in groups], sum(len(line.text) for line in every))
    return [list(_blocks(groups, levels, full_line(lines))) for groups, lines in zip(grouped, pages, strict=True)]


def _group(lines: Iterable[Line], body: _Body) -> list[_Group]:
    groups: list[_Group] = []
    for line in lines:
        style = body.style(line)
        last = groups[-1] if groups else None
        goes_on = last is not None and last.style == style and (style is None or _same_heading(line))
        if last is not None and goes_on:
            last.lines.append(line)
        elif style is not None and not body.begins(line, style):
            groups = _add_text(groups, line)
        else:
            groups.append(_Group(style, [line]))
    return groups


def _add_text(groups: list[_Group], line: Line) -> list[_Group]:
    if groups and groups[-1].style is None:
        groups[-1].lines.append(line)
        return groups
    return [*groups, _Group(None, [line])]


def _same_heading(line: Line) -> bool:
    """Whether a line goes on with the heading of its style right above it."""
    return line.drop <= _SAME_HEADING * line.size and not _NUMBERED.match(line.text)


def _levels(groups: Sequence[_Group], total: int) -> dict[float, int]:
    """The level of each style that has text below it somewhere; the largest needs none: it is the title's."""
    characters: dict[float, int] = defaultdict(int)
    introduces = set()
    for at, (style, lines) in enumerate(groups):
        if style is None or len(lines) > _MOST_LINES:
            continue
        characters[style] += sum(len(line.text) for line in lines)
        below = groups[at + 1] if at + 1 < len(groups) else None
        if below is not None and below.style is None and any(line.text for line in below.lines):
            introduces.add(style)
    if not characters or sum(characters.values()) > _MOST_SHARE * total:
        return {}
    kept = sorted(introduces | {max(characters)}, reverse=True)
    return {style: min(rank, _DEEPEST) for rank, style in enumerate(kept, start=1)}


def _blocks(groups: Iterable[_Group], levels: dict[float, int], full: float) -> Iterator[Block]:
    text: list[str] = []
    for style, lines in groups:
        level = levels.get(style, 0) if style is not None and len(lines) <= _MOST_LINES else 0
        if not level:
            text += [line.text for line in lines]
            continue
        if body := join_lines(text, full):
            yield Block(0, body)
        text = []
        yield Block(level, " ".join(line.text for line in lines))
    if body := join_lines(text, full):
        yield Block(0, body)
