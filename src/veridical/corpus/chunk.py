"""Passages out of a document: cut at headings, then paragraphs, then sentences, lines, words, characters.

A unit is a stretch of text that is not cut further; units lie end to end and cover the document. Units are
packed greedily into passages of at most `chunk_tokens`, never across a section's edge unless the section is tiny.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from veridical.corpus.tokens import CountTokens
from veridical.text.sentences import sentence_spans
from veridical.types import Document, Passage, Span

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_LINE = re.compile(r"\n\s*")
_WORD = re.compile(r"\s+")
# A section this small says little alone ("See below."), so it joins the next one under the same parent.
_TINY_TOKENS = 40
# WordPiece calls a word of over 100 characters one unknown token, so tokens alone would let a base64 blob through.
_CHARACTERS_A_TOKEN = 16


class _Unit(NamedTuple):
    span: Span
    tokens: int


class _Section(NamedTuple):
    path: tuple[str, ...]
    units: list[_Unit]

    @property
    def tokens(self) -> int:
        return sum(unit.tokens for unit in self.units)


class _Limit(NamedTuple):
    tokens: int
    characters: int
    counter: CountTokens
    language: str


def chunk(document: Document, chunk_tokens: int, count_tokens: CountTokens, language: str = "en") -> list[Passage]:
    """The passages of a document, in order; together they hold every character that is not white space."""
    limit = _Limit(chunk_tokens, chunk_tokens * _CHARACTERS_A_TOKEN, count_tokens, language)
    spans: list[Span] = []
    for group in _group_tiny(_sections(document, limit)):
        spans.extend(_pack(group, limit))
    if not getattr(count_tokens, "additive", False):
        spans = _recheck(spans, document.text, limit)
    return [_passage(document, ordinal, span) for ordinal, span in enumerate(spans)]


def _passage(document: Document, ordinal: int, span: Span) -> Passage:
    return Passage(
        id=f"{document.id}:{ordinal}",
        document_id=document.id,
        text=span.of(document.text),
        span=span,
        title=document.title,
        uri=document.uri,
        heading=_heading(document, span),
        page=max(bisect_right(document.pages, span.start), 1) if document.pages else None,
    )


def _heading(document: Document, span: Span) -> tuple[str, ...]:
    """The path where the passage begins, followed down: a chapter heading with its first section is that section."""
    at = bisect_right(document.headings, span.start, key=lambda heading: heading.start)
    path = document.headings[at - 1].path if at else ()
    for heading in document.headings[at:]:
        if heading.start >= span.end or not path or heading.path[: len(path)] != path:
            break
        path = heading.path
    return path


# ── units ────────────────────────────────────────────────────────────────────────────────────────


def _sections(document: Document, limit: _Limit) -> list[_Section]:
    """The stretches between headings, each with its units, counted in one batch for the whole document."""
    text = document.text
    starts = [(heading.start, heading.path) for heading in document.headings]
    if not starts or starts[0][0] > 0:
        starts.insert(0, (0, ()))
    paragraphs: list[Span] = []
    owners: list[int] = []
    for number, (start, _) in enumerate(starts):
        end = starts[number + 1][0] if number + 1 < len(starts) else len(text)
        pieces = _cut(text, Span(start, end), _PARAGRAPH)
        paragraphs.extend(pieces)
        owners.extend([number] * len(pieces))
    sections = [_Section(path, []) for _, path in starts]
    for owner, units in zip(owners, _fit(paragraphs, text, limit), strict=True):
        sections[owner].units.extend(units)
    return [section for section in sections if section.units]


def _fit(spans: Sequence[Span], text: str, limit: _Limit) -> list[list[_Unit]]:
    """Each span as units within the limit: itself when it fits, otherwise cut by ever finer means."""
    counts = _count(spans, text, limit)
    fitted: list[list[_Unit]] = []
    for span, tokens in zip(spans, counts, strict=True):
        if tokens <= limit.tokens:
            fitted.append([_Unit(span, tokens)])
        else:
            fitted.append(_split(span, text, limit))
    return fitted


def _split(span: Span, text: str, limit: _Limit) -> list[_Unit]:
    """A span over the limit, cut by the first means that cuts it at all; its pieces may need a finer one."""
    for means in (_by_sentence, _by_line):
        pieces = means(span, text, limit)
        if len(pieces) > 1:
            return [unit for units in _fit(pieces, text, limit) for unit in units]
    return _by_halves(span, text, limit)


def _by_sentence(span: Span, text: str, limit: _Limit) -> list[Span]:
    starts = [sentence.start + span.start for sentence in sentence_spans(span.of(text), limit.language)]
    edges = [span.start, *starts[1:], span.end]
    return [_strip(Span(a, b), text) for a, b in pairwise(edges)]


def _by_line(span: Span, text: str, limit: _Limit) -> list[Span]:
    lines = _cut(text, span, _LINE)
    if len(lines) < 2:
        return lines
    # Neighbouring lines are joined again before counting: a log of short lines would be counted line by line.
    joined = [lines[0]]
    for line in lines[1:]:
        if line.end - joined[-1].start <= limit.tokens:
            joined[-1] = Span(joined[-1].start, line.end)
        else:
            joined.append(line)
    return joined if len(joined) > 1 else lines


def _by_halves(span: Span, text: str, limit: _Limit) -> list[_Unit]:
    """Cuts at the word's edge nearest the middle, or between two characters where there is none, until all fits."""
    fitted: list[_Unit] = []
    waiting = [span]
    while waiting:
        following: list[Span] = []
        for piece, tokens in zip(waiting, _count(waiting, text, limit), strict=True):
            if tokens <= limit.tokens or piece.end - piece.start == 1:
                fitted.append(_Unit(piece, tokens))
            else:
                following.extend(_halve(piece, text))
        waiting = following
    return sorted(fitted)


def _halve(span: Span, text: str) -> list[Span]:
    middle = (span.start + span.end) // 2
    after = _WORD.search(text, middle, span.end)
    start = max(text.rfind(" ", span.start, middle), text.rfind("\n", span.start, middle))
    edges = ([after.start()] if after else []) + ([start] if start > span.start else [])
    cut = min(edges, key=lambda edge: abs(edge - middle), default=middle)
    while not edges and cut < span.end - 1 and unicodedata.combining(text[cut]):
        cut += 1  # an accent stays with its letter
    return [_strip(Span(span.start, cut), text), _strip(Span(cut, span.end), text)]


def _count(spans: Sequence[Span], text: str, limit: _Limit) -> list[int]:
    """Tokens a span; one longer than any passage may be counts as over the limit without being counted."""
    short = [span for span in spans if span.end - span.start <= limit.characters]
    counts = iter(limit.counter([span.of(text) for span in short]) if short else [])
    return [next(counts) if span.end - span.start <= limit.characters else limit.tokens + 1 for span in spans]


def _cut(text: str, span: Span, at: re.Pattern[str]) -> list[Span]:
    """The pieces of `span` between matches of `at`, without white space around them, empty ones left out."""
    edges = [span.start, *(match.start() for match in at.finditer(text, span.start, span.end)), span.end]
    pieces = (_strip(Span(a, b), text) for a, b in pairwise(edges))
    return [piece for piece in pieces if piece.start < piece.end]


def _strip(span: Span, text: str) -> Span:
    body = span.of(text)
    start = span.end - len(body.lstrip())
    return Span(start, max(start, span.start + len(body.rstrip())))


# ── packing ──────────────────────────────────────────────────────────────────────────────────────


def _group_tiny(sections: Iterable[_Section]) -> Iterable[list[_Unit]]:
    """The units of each section; a tiny section runs on into the next one when both hang under one parent."""
    group: list[_Unit] = []
    tokens = 0
    previous: tuple[str, ...] = ()
    for section in sections:
        if group and not (tokens <= _TINY_TOKENS and _related(previous, section.path)):
            yield group
            group, tokens = [], 0
        group = [*group, *section.units]
        tokens += section.tokens
        previous = section.path
    if group:
        yield group


def _related(path: tuple[str, ...], following: tuple[str, ...]) -> bool:
    """Siblings, or a parent and its first child."""
    return bool(path) and (path[:-1] == following[:-1] or following[: len(path)] == path)


def _pack(units: Sequence[_Unit], limit: _Limit) -> list[Span]:
    spans: list[Span] = []
    tokens = 0
    for unit in units:
        joined = Span(spans[-1].start, unit.span.end) if spans else unit.span
        fits = tokens + unit.tokens <= limit.tokens and joined.end - joined.start <= limit.characters
        if spans and fits:
            spans[-1] = joined
            tokens += unit.tokens
        else:
            spans.append(unit.span)
            tokens = unit.tokens
    return spans


def _recheck(spans: Sequence[Span], text: str, limit: _Limit) -> list[Span]:
    """For counters whose counts do not add up over white space: what is over the limit after all is halved."""
    checked: list[Span] = []
    for span, tokens in zip(spans, _count(spans, text, limit), strict=True):
        if tokens <= limit.tokens:
            checked.append(span)
        else:
            checked.extend(unit.span for unit in _by_halves(span, text, limit))
    return checked
