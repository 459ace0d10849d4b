"""HTML: the main text without the page's furniture, headings as a path, tables row by row."""

# ruff: noqa: SIM905 (long word lists read best as words)
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from veridical.corpus.read.decode import decode
from veridical.corpus.read.layout import Layout
from veridical.corpus.read.origin import Extract, Origin, parse_date
from veridical.errors import ConfigError, InputRefused
from veridical.types import Document

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_CHARSET = re.compile(rb"<(?:meta[^>]{0,200}charset|\?xml[^>]{0,100}encoding)\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
_SERVED_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)
_DROPPED = frozenset(
    "nav footer aside script style noscript template svg iframe button select option textarea head object math canvas"
    " dialog".split()
)
_DROPPED_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "complementary", "dialog", "menu"})
_BLOCKS = frozenset(
    "address article blockquote body caption dd details div dl dt fieldset figcaption figure form h1 h2 h3 h4 h5 h6"
    " header hr html legend li main ol p pre section summary table tbody td tfoot th thead tr ul".split()
)
_CELL = "\x1f"  # between the cells of a row: no text holds it, `clean` saw to that
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_DATES = (
    "//meta[@property='article:modified_time']/@content",
    "//meta[@property='article:published_time']/@content",
    "//meta[@name='date' or @name='dc.date' or @name='DC.date']/@content",
)


def read(origin: Origin) -> Iterator[Document]:
    content = origin.content()
    text = decode(content, "" if content.startswith(b"\xef\xbb\xbf") else _declared(content, origin.source.media_type))
    if not text.strip():
        raise InputRefused("holds no text", fix="Leave the file out.")
    yield origin.document(_by_trafilatura(text) if origin.options.html == "trafilatura" else extract(text))


def _declared(content: bytes, media_type: str) -> str:
    """The encoding that the page names, or else the server."""
    if found := _CHARSET.search(content[:2048]):
        return found[1].decode()
    served = _SERVED_CHARSET.search(media_type)
    return served[1] if served else ""


def extract(text: str) -> Extract:
    root = parse_html(text)
    if root is None:
        return Extract("")
    layout = Layout()
    add_html(layout, root)
    heading = layout.headings[0].path[0] if layout.headings else ""
    dates = (parse_date(str(found)) for path in _DATES for found in root.xpath(path))
    return Extract(
        layout.text,
        (root.findtext(".//title") or "").strip() or heading,
        headings=tuple(layout.headings),
        date=next((date for date in dates if date), None),
    )


def parse_html(text: str) -> HtmlElement | None:
    """The tree, None for a page without any element."""
    from lxml.etree import ParserError
    from lxml.html import HTMLParser, document_fromstring

    # The text is decoded already: an encoding declaration inside would make lxml refuse it.
    body = re.sub(r"^\s*<\?xml[^>]*\?>", "", text.removeprefix("\ufeff"))
    # huge_tree: elements nested 2,048 deep are kept, not 256; the size is bounded by max_file_bytes already.
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        return document_fromstring(body.encode("utf-8", "replace"), parser=parser)
    except ParserError:
        return None


def add_html(layout: Layout, root: HtmlElement, level: int = 0) -> None:
    """Appends the main text of a page, its headings `level` lower than written."""
    before = layout.length
    main = _main(root)
    _Walk(layout, main is not root, level).add(main)
    if layout.length == before and main is not root:
        _Walk(layout, False, level).add(root)
    if layout.length == before:  # some sites wrap the whole page into one form
        _Walk(layout, False, level, dropped=_DROPPED - {"form"}).add(root)


def _main(root: HtmlElement) -> HtmlElement:
    for path in ("//main", "//*[@role='main']", "//article"):
        found = root.xpath(path)
        if len(found) == 1:
            return found[0]
    return root


class _Walk:
    """One pass over a tree; inline text gathers in `_inline` until a block's edge sends it to the layout."""

    def __init__(
        self, layout: Layout, inside_main: bool, level: int, dropped: frozenset[str] = _DROPPED | {"form"}
    ) -> None:
        self._layout = layout
        self._level = level
        # Inside the main text a header holds its heading; outside, the site's.
        self._dropped = dropped if inside_main else dropped | {"header"}
        self._inline: list[str] = []
        self._pre = 0
        self._cells = 0

    def add(self, root: HtmlElement) -> None:
        from lxml.etree import iterwalk

        # No recursion: a page may nest deeper than Python's stack.
        walk = iterwalk(root, events=("start", "end"))
        skipping = None
        for event, element in walk:
            if event == "start":
                if self._drops(element):
                    skipping = element
                    walk.skip_subtree()
                else:
                    self._enter(element)
                    self._say(element.text)
                continue
            if element is skipping:
                skipping = None
            else:
                self._leave(element)
            if element is not root:
                self._say(element.tail)
        self._flush()

    def _drops(self, element: HtmlElement) -> bool:
        attributes = element.attrib
        return (
            element.tag in self._dropped
            or "hidden" in attributes
            or attributes.get("aria-hidden") == "true"
            or attributes.get("role") in _DROPPED_ROLES
            or bool(_HIDDEN_STYLE.search(attributes.get("style", "")))
        )

    def _say(self, text: str | None) -> None:
        if text:
            self._inline.append(text if self._pre else re.sub(r"\s+", " ", text))

    def _enter(self, element: HtmlElement) -> None:
        tag = element.tag
        if tag in {"td", "th"}:
            if self._cells:
                self._inline.append(_CELL)
            self._cells += 1
        elif tag == "br":
            self._inline.append("\n")
        elif tag in _BLOCKS and not self._cells:
            self._flush()
            self._pre += tag == "pre"
            if tag == "li":
                self._inline.append("- ")
        elif tag in _BLOCKS:
            self._inline.append(" ")  # a paragraph inside a cell does not break the row

    def _leave(self, element: HtmlElement) -> None:
        tag = element.tag
        if tag == "tr":
            self._cells = 0
            cells = [" ".join(cell.split()) for cell in self._take().split(_CELL)]
            filled = [cell for cell in cells if cell]
            # A row with one filled cell is page layout, not a record whose empty cells mean something.
            self._layout.block((" | ".join(cells) if len(filled) > 1 else "".join(filled)), run="table")
        elif self._cells:
            self._inline.append(" " if tag in _BLOCKS and tag not in {"td", "th"} else "")
        elif tag in _HEADINGS:
            self._layout.heading(int(tag[1]) + self._level, self._take())
        elif tag in _BLOCKS:
            self._flush()
            self._pre -= tag == "pre"

    def _take(self) -> str:
        text = "".join(self._inline)
        self._inline = []
        return text

    def _flush(self) -> None:
        text = self._take()
        if not self._pre:
            text = re.sub(r" *\n *", "\n", re.sub(r"[^\S\n]+", " ", text)).strip()
        self._layout.block("" if text == "-" else text, run="list" if text.startswith("- ") else "")


def _by_trafilatura(text: str) -> Extract:
    try:
        import trafilatura
    except ImportError as error:
        raise ConfigError(
            "html = 'trafilatura' needs a package that is not installed", fix="pip install 'veridical[web]'"
        ) from error
    body = trafilatura.extract(text, include_tables=True, include_comments=False) or ""
    facts = trafilatura.extract_metadata(text)
    return Extract(body, (facts and facts.title) or "", date=parse_date((facts and facts.date) or ""))
