"""The parts of a Markdown text that make no claim: front matter, fenced code, comments and headings.

In doubt a part is checked: a fence or a comment that is never closed hides nothing, and neither does a heading that
ends like a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from veridical.types import Span

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_BOUNDARY = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\n")
_FIELD = re.compile(r'[ \t]*(?:[\w.-]+|"[^"\n]*")[ \t]*[:=](?:[ \t]+\S.*|[ \t]*)|\[+[\w. -]+\]+[ \t]*|[ \t]*')
_ITEM = re.compile(r"[ \t]*-[ \t]+\S.*")  # of a field that is a list
_SENTENCE_END = re.compile(r"[.!…。！][\"'”’»)*_`]*(?:\s*\[[\d\s,–-]+\])*[.!]?[ \t#]*$")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t][^\n]*$", re.MULTILINE)
# A line of its own above the bar: of a paragraph the last line is no title.
_UNDERLINED = re.compile(r"(?:\A\ufeff?|^[ \t]*\n)([^\n]{1,100})\n={3,}[ \t]*$", re.MULTILINE)


_FOOTNOTE = re.compile(r"^\[\^[^\]\s]+\]:[^\n]*$|\[\^[^\]\s]+\]", re.MULTILINE)
_TABLE_HEADER = re.compile(r"^[ \t]*\|[^\n]*\|[ \t]*(?=\n[ \t]*\|[ \t:|-]*-[ \t:|-]*$)", re.MULTILINE)


def find_silent(content: str) -> dict[Span, str]:
    """Where these parts stand, and the kind of each; what stands in one of them is no part of its own."""
    found: dict[Span, str] = {}
    kinds = {
        "front matter": _front_matter,
        "code block": _code_blocks,
        "comment": _comments,
        "heading": _headings,
        "footnote": _footnotes,
        "table header": _table_headers,
    }
    for kind, find in kinds.items():
        spans = list(find(content))
        found |= dict.fromkeys(spans, kind)
        content = blank(content, spans)
    return found


def blank(content: str, spans: Iterable[Span]) -> str:
    """`content` with spaces where the spans are, which come in order; line breaks stay, and so does the length."""
    pieces, at = [], 0
    for span in spans:
        pieces += [content[at : span.start], re.sub(r"[^\n]", " ", span.of(content))]
        at = max(at, span.end)
    return "".join([*pieces, content[at:]])


def _front_matter(content: str) -> Iterator[Span]:
    """Between two bars at the beginning, when every line is a field: else the bars are rules around a text."""
    opening = _BOUNDARY.match(content)
    at = opening.end() if opening else len(content)
    while opening and at < len(content):
        end = content.find("\n", at)
        line = content[at : end if end >= 0 else len(content)]
        if line.rstrip() == opening[1]:
            yield Span(0, at + len(line))
            return
        if not _FIELD.fullmatch(line) and (not _ITEM.fullmatch(line) or _SENTENCE_END.search(line)):
            return
        at += len(line) + 1


def _code_blocks(content: str) -> Iterator[Span]:
    fences = list(_FENCE.finditer(content))
    # For each fence the longest closing one behind it, by its sign: so that one that is never closed costs nothing.
    longest: list[dict[str, int]] = []
    behind = {"`": 0, "~": 0}
    for fence in reversed(fences):
        longest.append(behind)
        if not fence[2].strip():
            behind = {**behind, fence[1][0]: max(behind[fence[1][0]], len(fence[1]))}
    opened: re.Match[str] | None = None
    for fence, closing in zip(fences, reversed(longest), strict=True):
        sign = fence[1]
        if opened is None:
            inline = sign[0] == "`" and "`" in fence[2]  # ```code``` in the middle of a text
            opened = fence if not inline and closing[sign[0]] >= len(sign) else None
        elif not fence[2].strip() and sign.startswith(opened[1]):
            yield Span(opened.start(), fence.end())
            opened = None


def _comments(content: str) -> Iterator[Span]:
    end = 0
    while (start := content.find("<!--", end)) >= 0 and (closing := content.find("-->", start + 4)) >= 0:
        end = closing + 3
        yield Span(start, end)


def _headings(content: str) -> Iterator[Span]:
    found = [Span(*heading.span()) for heading in _HEADING.finditer(content)]
    found += [Span(title.start(1), title.end()) for title in _UNDERLINED.finditer(content)]
    for span in sorted(found):
        if not _SENTENCE_END.search(span.of(content).partition("\n")[0]):
            yield span


def _footnotes(content: str) -> Iterator[Span]:
    """Marks such as [^1], and the lines that say where they lead."""
    return (Span(*match.span()) for match in _FOOTNOTE.finditer(content))


def _table_headers(content: str) -> Iterator[Span]:
    """The first row of a table; the rows below it are claims."""
    return (Span(*match.span()) for match in _TABLE_HEADER.finditer(content))
