"""Source code: text whose headings are the names of the definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from veridical.corpus.read.origin import Extract, Origin
from veridical.corpus.read.plain import read_text
from veridical.types import Document, Heading

_DEFINITION = re.compile(
    r"^(?P<indent>[ \t]*)"
    r"(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|final|abstract|async|unsafe"
    r"|inline|open|data|sealed|override|const)\s+)*"
    r"(?:def|class|fn|func|fun|function|struct|enum|trait|impl|interface|module|object|protocol)\s+"
    r"(?:\([^)\n]*\)\s*)?(?:self\.)?(?P<name>[A-Za-z_$][\w$]*(?:(?:::|\.)[\w$]+)*)",
    re.MULTILINE,
)
_LEADING_LINE = re.compile(r"[ \t]*(?:@|#|//|/\*|\*|--)")  # decorators and comments belong to what they stand above
_TOP_LEVEL = re.compile(r"^[A-Za-z_]", re.MULTILINE)
_DEEPEST = 2  # a method of a class; functions inside functions are part of their function


def read(origin: Origin) -> Iterator[Document]:
    closing = _TOP_LEVEL if origin.media_type == "text/x-python" else None
    yield from read_text(origin, lambda text: Extract(text, origin.name, headings=tuple(_headings(text, closing))))


def _headings(text: str, closing: re.Pattern[str] | None) -> Iterator[Heading]:
    """A heading a definition; with `closing`, an empty one where code at the top level follows a definition."""
    stack: list[tuple[int, str]] = []
    last_start = -1
    last_end = 0
    for definition in _DEFINITION.finditer(text):
        indent = len(definition["indent"].expandtabs(4))
        outer = [entry for entry in stack if entry[0] < indent]
        if len(outer) >= _DEEPEST:
            continue
        start = max(_with_leading_lines(text, definition.start()), last_end)
        after = closing.search(text, text.find("\n", last_end), start) if closing and stack and last_end else None
        if after:
            yield Heading(after.start(), ())
            last_start = after.start()
        stack = [*outer, (indent, definition["name"])]
        if start > last_start:
            yield Heading(start, tuple(name for _, name in stack))
            last_start = start
        last_end = definition.end()
    if (
        closing
        and stack
        and (tail := closing.search(text, text.find("\n", last_end) if "\n" in text[last_end:] else len(text)))
    ):
        yield Heading(tail.start(), ())


def _with_leading_lines(text: str, start: int) -> int:
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        if not _LEADING_LINE.match(text, above, start):
            return start
        start = above
    return start
