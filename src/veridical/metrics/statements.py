"""An answer taken apart into what citation metrics count: sentences, or the items of a list, with their marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from veridical.text.marks import parse_marks, strip_marks
from veridical.text.sentences import sentence_spans
from veridical.types import Span

_WORD = re.compile(r"\w")
_BRACKET_NUMBER = re.compile(r"\[(\d+)")
_BRACKET = re.compile(r" ?\[\d+")


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence or item as a judge reads it: without marks. `span` is its place in the answer, marks included."""

    text: str
    marks: tuple[int, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Reading:
    """How sentences, items and marks are found. `wordless` keeps what has no letter and no digit (rules, dashes)."""

    split: Callable[[str], Sequence[Span]] = sentence_spans
    parse: Callable[[str], Sequence[int]] = parse_marks
    strip: Callable[[str], str] = strip_marks
    item_break: re.Pattern[str] = re.compile(r",(?![\d\s,–-]*\])")  # a comma, but not that of `[1, 2]`
    wordless: bool = False


def alce_marks(text: str) -> tuple[int, ...]:
    """The number after every opening bracket, repeats kept: the public script sees 1 in `[1, 2]` and in `[1-3]`."""
    return tuple(int(number) for number in _BRACKET_NUMBER.findall(text))


def alce_strip(text: str) -> str:
    """`text` as the public script hands it to NLI: without `[n` (and a space before it), ` |` and `]`."""
    return _BRACKET.sub("", text).replace(" |", "").replace("]", "").strip()


OURS = Reading()
ALCE = Reading(parse=alce_marks, strip=alce_strip, item_break=re.compile(","), wordless=True)


def read_sentences(text: str, reading: Reading = OURS) -> tuple[Statement, ...]:
    """The sentences of an answer, in order."""
    found = (_statement(text, span, "", reading) for span in reading.split(text))
    return tuple(one for one in found if reading.wordless or _WORD.search(one.text))


def read_items(question: str, text: str, reading: Reading = OURS) -> tuple[Statement, ...]:
    """The items of a comma-separated answer, each judged as "question item" (QAMPARI), in order."""
    found = (_statement(text, span, f"{question} ", reading) for span in item_spans(text, reading))
    return tuple(one for one in found if reading.wordless or _WORD.search(reading.strip(one.span.of(text))))


def item_spans(text: str, reading: Reading = OURS) -> list[Span]:
    """Where the items lie, without outer space: split on commas once a final full stop and comma are dropped."""
    body = text.rstrip().rstrip(".").rstrip(",")
    breaks = [(match.start(), match.end()) for match in reading.item_break.finditer(body)]
    starts, ends = [0, *(end for _, end in breaks)], [*(start for start, _ in breaks), len(body)]
    return [_trim(Span(start, end), body) for start, end in zip(starts, ends, strict=True)]


def _trim(span: Span, text: str) -> Span:
    piece = span.of(text)
    start = span.start + len(piece) - len(piece.lstrip())
    return Span(start, start + len(piece.strip()))


def _statement(text: str, span: Span, lead: str, reading: Reading) -> Statement:
    piece = span.of(text)
    return Statement(reading.strip(lead + piece), tuple(reading.parse(piece)), span)
