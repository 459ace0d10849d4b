"""PDF: page by page, lines joined back into paragraphs, the outline or the larger lines as headings.

pdfium is not thread-safe: one thread of a process may read PDFs at a time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from veridical.corpus.read import ocr
from veridical.corpus.read.headings import Block, find_blocks
from veridical.corpus.read.origin import Extract, Origin, parse_date, tidy_title
from veridical.corpus.read.paragraphs import Line, drop_running_lines, ends_sentence, split_lines
from veridical.corpus.read.typeset import page_lines
from veridical.errors import InputRefused
from veridical.types import Document, Heading

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_TAIL_BYTES = 4096  # where a complete file says %%EOF, generously
_DULL_TITLE = re.compile(r"untitled|microsoft word|powerpoint|document\d*$|.*\.(docx?|pdf|indd|tex|dvi|qxd)$", re.I)
_LONGEST_LINE_AS_TITLE = 120
_FEWEST_BOOKMARKS = 2  # an outline of one entry is the file's name as often as not
_SHARE_FOR_OCR = 0.8  # of the time a file may take
_POINTS_PER_INCH = 72


def read(origin: Origin) -> Iterator[Document]:
    pdf = _open(origin.content())
    try:
        yield origin.document(_extract(pdf, origin))
    finally:
        pdf.close()


def _open(content: bytes) -> PdfDocument:
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise InputRefused(
                "is encrypted", fix="Save a copy without a password (for example `qpdf --decrypt --password=… in out`)."
            ) from error
        raise InputRefused("is not a readable PDF: damaged or truncated", fix="Fetch a fresh copy.") from error
    # pdfium repairs a truncated file in silence and drops what is missing; a user must hear of lost pages.
    if b"%%EOF" not in content[-_TAIL_BYTES:]:
        pdf.close()
        raise InputRefused("is truncated: its end is missing", fix="Fetch a fresh copy.")
    return pdf


def _extract(pdf: PdfDocument, origin: Origin) -> Extract:
    if origin.options.ocr:
        ocr.require_ocr()
    deadline = time.monotonic() + _SHARE_FOR_OCR * origin.options.timeout_s
    raw = [_read_page(pdf, number, origin, deadline) for number in range(len(pdf))]
    text, pages, headings = _lay_out(find_blocks(drop_running_lines(raw)))
    if not text:
        raise InputRefused(
            "holds no text: its pages are pictures",
            fix="Set read.ocr (it needs `pip install 'veridical[ocr]'`), or run OCR over it, for example `ocrmypdf`.",
        )
    facts = pdf.get_metadata_dict(skip_empty=True)
    outline = _outline(pdf, text, pages)
    return Extract(
        text,
        _title(facts.get("Title", ""), text),
        tuple(pages),
        outline if len(outline) >= _FEWEST_BOOKMARKS else headings or outline,
        parse_date(facts.get("ModDate", "")) or parse_date(facts.get("CreationDate", "")),
    )


def _lay_out(blocks: Sequence[Sequence[Block]]) -> tuple[str, list[int], tuple[Heading, ...]]:
    """The text, where its pages begin, and its headings."""
    pieces: list[str] = []
    pages: list[int] = []
    headings: list[Heading] = []
    open_headings: list[Block] = []
    length = 0
    above = Block(0, "")
    for page in blocks:
        begun = False
        for block in page:
            if pieces:
                # A sentence that runs over the page's end stays one: only a finished one gets an empty line.
                runs_on = not (above.level or block.level or ends_sentence(above.text))
                pieces.append("\n" if runs_on else "\n\n")
                length += len(pieces[-1])
            if not begun:
                pages.append(length)
                begun = True
            if block.level:
                open_headings = [*(entry for entry in open_headings if entry.level < block.level), block]
                headings.append(Heading(length, tuple(tidy_title(entry.text) for entry in open_headings)))
            pieces.append(block.text)
            length += len(block.text)
            above = block
        if not begun:
            pages.append(length)
    return "".join(pieces), pages, tuple(headings)


def _read_page(pdf: PdfDocument, number: int, origin: Origin, deadline: float) -> list[Line]:
    import pypdfium2

    try:
        page = pdf[number]
        text_page = page.get_textpage()
        lines = page_lines(text_page)
        text_page.close()
        if not any(line.text for line in lines):
            lines = _read_picture(page, number, origin, deadline) if origin.options.ocr else []
            if not lines:
                origin.warn(f"page {number + 1} has no text (scanned?)")
        page.close()
    except pypdfium2.PdfiumError:
        origin.warn(f"page {number + 1} is damaged")
        return []
    return lines


def _read_picture(page: PdfPage, number: int, origin: Origin, deadline: float) -> list[Line]:
    """A page's lines by OCR. Raises InputRefused rather than leave out pages when the file's time runs out."""
    if time.monotonic() > deadline:
        raise InputRefused(
            f"has too many scanned pages: OCR came to page {number + 1} within {origin.options.timeout_s:g} s",
            fix="Raise read.timeout_s (20 s a page is usual), or split the file.",
        )
    scale = min(ocr.DOTS_PER_INCH / _POINTS_PER_INCH, ocr.LONGEST_SIDE / max(page.get_size()))
    text = ocr.recognise(page.render(scale=scale).to_numpy())
    lines = [Line(line) for _, _, line in split_lines(text)]
    if any(line.text for line in lines):
        origin.warn(f"page {number + 1} was read by OCR; check it")
        return lines
    return []


def _title(named: str, text: str) -> str:
    title = tidy_title(named)
    if title and not _DULL_TITLE.match(title):
        return title
    first = text.split("\n", 1)[0].strip()
    return first if len(first) <= _LONGEST_LINE_AS_TITLE and re.search(r"\w{2}", first) else ""


def _outline(pdf: PdfDocument, text: str, pages: Sequence[int]) -> tuple[Heading, ...]:
    """The outline, each entry at the line that repeats it on its page, or where the page begins."""
    headings: list[Heading] = []
    open_headings: list[tuple[int, str]] = []
    for bookmark in pdf.get_toc():
        title, page = tidy_title(bookmark.get_title() or ""), _page_of(bookmark)
        if not title or page is None or page >= len(pages):
            continue
        open_headings = [*(entry for entry in open_headings if entry[0] < bookmark.level), (bookmark.level, title)]
        end = pages[page + 1] if page + 1 < len(pages) else len(text)
        line = re.compile(rf"^(?:[\d.]+ )?{re.escape(title)}", re.MULTILINE | re.IGNORECASE).search(
            text, pages[page], end
        )
        start = line.start() if line else pages[page]
        if not headings or start >= headings[-1].start:
            headings.append(Heading(start, tuple(name for _, name in open_headings)))
    return tuple(headings)


def _page_of(bookmark: Any) -> int | None:
    target = bookmark.get_dest()
    index = target.get_index() if target else None
    return index if isinstance(index, int) else None
