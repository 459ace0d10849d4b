"""Markdown: the text as written, headings found by a real parser, facts from the front matter."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from veridical.corpus.read.origin import Extract, Origin, parse_date
from veridical.corpus.read.plain import read_text
from veridical.types import Document, Heading

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_FRONT_MATTER = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\n(.*?\n)?\1[ \t]*(?:\n|$)\n*", re.DOTALL)
_YAML_LINE = re.compile(
    r"^(title|date|tags)[ \t]*:[ \t]*(.*?)[ \t]*$((?:\n[ \t]*-[ \t].*)*)", re.MULTILINE | re.IGNORECASE
)


def read(origin: Origin) -> Iterator[Document]:
    yield from read_text(origin, _extract)


def _extract(text: str) -> Extract:
    front = _FRONT_MATTER.match(text)
    facts = _facts(front[1], front[2] or "") if front else {}
    body = text[front.end() :] if front else text
    headings = _headings(body)
    title = next((heading.path[0] for heading in headings if len(heading.path) == 1), "")
    return Extract(
        body,
        "".join(facts.get("title", [])) or title,
        headings=headings,
        date=parse_date("".join(facts.get("date", []))),
        tags=tuple(facts.get("tags", [])),
        offset=front.end() if front else 0,
    )


def _headings(text: str) -> tuple[Heading, ...]:
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark")
    markdown.core.ruler.disable("inline")  # only blocks matter here, and inline parsing is most of the cost
    line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
    headings: list[Heading] = []
    open_headings: list[tuple[int, str]] = []
    inlines = MarkdownIt("commonmark")
    tokens = markdown.parse(text)
    for token, inline in pairwise(tokens):
        if token.type != "heading_open" or token.map is None or token.level > 0:  # those in quotes and lists are not
            continue
        name = _plain(inline.content, inlines)
        if not name:
            continue
        level = int(token.tag[1])
        open_headings = [*(entry for entry in open_headings if entry[0] < level), (level, name)]
        headings.append(Heading(line_starts[token.map[0]], tuple(name for _, name in open_headings)))
    return tuple(headings)


def _plain(content: str, markdown: MarkdownIt) -> str:
    """A heading without its markup: `**Bold** [link](url)` is "Bold link"."""
    children = [child for inline in markdown.parseInline(content) for child in inline.children or []]
    return " ".join("".join(child.content or " " * (child.type == "softbreak") for child in children).split())


def _facts(fence: str, block: str) -> dict[str, list[str]]:
    """Title, date and tags; front matter that cannot be read has none."""
    if fence == "+++":
        try:
            table = tomllib.loads(block)
        except tomllib.TOMLDecodeError:
            return {}
        return {key: _as_list(table[key]) for key in ("title", "date", "tags") if key in table}
    facts: dict[str, list[str]] = {}
    for key, value, items in _YAML_LINE.findall(block):
        inline = value.strip("[]").split(",") if key.lower() == "tags" else [value]
        listed = [line.strip()[1:] for line in items.strip().split("\n")] if items else []
        facts[key.lower()] = [word for item in [*inline, *listed] if (word := item.strip().strip("'\""))]
    return facts


def _as_list(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]
