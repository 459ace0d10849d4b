"""Where sentences begin and end, as spans into the text they came from."""

from __future__ import annotations

import re
from itertools import pairwise

from veridical.text.items import DASHES, DOTS, is_item_sign
from veridical.types import Span

# A blank line, a list item or a table row ends a sentence whatever the punctuation says.
_BLOCK = re.compile(rf"\n[ \t]*(?=\n|(?:[{DASHES}{DOTS}]|\d{{1,3}}[.)]|[a-z]\))[ \t]|\||#{{1,6}} )|\n(?<=\|\n)")
# A citation mark behind the full stop belongs to the sentence before it: "It fell. [2] Then …".
_TRAILING_MARKS = re.compile(r"\s*(?:\[\d[\d,\s–-]*\]\s*)+")
# “It is over.” [1] Then …: the splitter does not see that end.
_QUOTED_END = re.compile(r"[.!?…][\"”’»]\s*(?:\[\d[\d,\s–-]*\]\s*)+(?=[A-Z“\"«])")
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # half a character, from a badly decoded file; the splitter cannot read it
# Abbreviations before a number that the splitter does not know.
_NUMBERED = re.compile(r"\b(?:eqs?|approx|sec|ch|ref|vols?|figs?)\.$", re.IGNORECASE)
_NAME_STOP = re.compile(r"(?:^|[A-Z\s])\.$")  # ASP.NET, .NET


def sentence_spans(text: str, language: str = "en") -> list[Span]:
    """The sentences of `text` in order, without surrounding white space; together they hold every word."""
    spans: list[Span] = []
    start = 0
    for block in [*_BLOCK.finditer(text), None]:
        end = block.start() if block else len(text)
        spans.extend(span.shift(start) for span in _split_block(text[start:end], language))
        start = end
    return _join_trailing_marks(text, spans)


def split_sentences(text: str, language: str = "en") -> list[str]:
    return [span.of(text) for span in sentence_spans(text, language)]


def _split_block(block: str, language: str) -> list[Span]:
    whole = _strip(Span(0, len(block)), block)
    if whole.of(block).startswith("|") and "\n" not in whole.of(block):  # a row of a table
        return [whole]
    if whole.start >= whole.end:
        return []
    from sentencex import segment  # loads its language tables on first use

    readable = _SURROGATE.sub("\ufffd", block)
    spans: list[Span] = []
    cursor = 0
    for piece in segment(language, readable):
        body = piece.strip()
        if not body:
            continue
        start = readable.find(body, cursor)
        if start < 0:  # the splitter rewrote something: keep the text, lose the boundary
            return [whole]
        cursor = start + len(body)
        if spans and _goes_on(readable, spans[-1], start):
            spans[-1] = Span(spans[-1].start, cursor)
        else:
            spans.append(Span(start, cursor))
    return [part for span in spans for part in _split_quoted(span, block)]


def _split_quoted(span: Span, text: str) -> list[Span]:
    ends = [end.end() for end in _QUOTED_END.finditer(text, span.start, span.end)]
    return [_strip(Span(*part), text) for part in pairwise((span.start, *ends, span.end))]


def _goes_on(text: str, before: Span, start: int) -> bool:
    """Whether what starts here still belongs to the sentence before, for all the splitter says."""
    said = before.of(text)
    if is_item_sign(said):
        return True
    if before.end == start:
        return text[start].isascii() and text[start].isalnum() and _NAME_STOP.search(said) is not None
    return text[start].isdigit() and _NUMBERED.search(said) is not None


def _strip(span: Span, text: str) -> Span:
    body = span.of(text)
    lead = len(body) - len(body.lstrip())
    return Span(span.start + lead, span.start + len(body.rstrip()))


def _join_trailing_marks(text: str, spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for span in spans:
        marks = _TRAILING_MARKS.match(span.of(text)) if joined else None
        if not marks:
            joined.append(span)
            continue
        joined[-1] = _strip(Span(joined[-1].start, span.start + marks.end()), text)
        if marks.end() < len(span.of(text)):
            joined.append(Span(span.start + marks.end(), span.end))
    return joined
