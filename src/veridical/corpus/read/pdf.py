"""PDF: page by page, lines joined back into paragraphs, the outline as headings.

pdfium is not thread-safe: one thread of a process may read PDFs at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from veridical.corpus.read.origin import Extract, Origin, parse_date, tidy_title
from veridical.corpus.read.paragraphs import drop_running_lines, ends_sentence, join_lines, split_lines
from veridical.errors import InputRefused
from veridical.types import Document, Heading

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_TAIL_BYTES = 4096  # where a complete file says %%EOF, generously
_DULL_TITLE = re.compile(r"untitled|microsoft word|powerpoint|document\d*$|.*\.(docx?|pdf|indd|tex|dvi|qxd)$", re.I)
_LONGEST_LINE_AS_TITLE = 120


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
    pieces: list[str] = []
    pages: list[int] = []
    length = 0
    raw = [_page_lines(pdf, number, origin) for number in range(len(pdf))]
    for body in map(join_lines, drop_running_lines(raw)):
        if body and pieces:
            # A sentence that runs over the page's end stays one: only a finished one gets an empty line.
            gap = "\n\n" if ends_sentence(pieces[-1]) else "\n"
            pieces.append(gap)
            length += len(gap)
        pages.append(length)
        if body:
            pieces.append(body)
            length += len(body)
    text = "".join(pieces)
    if not text:
        raise InputRefused(
            "holds no text: its pages are pictures", fix="Run OCR over it first, for example `ocrmypdf`."
        )
    facts = pdf.get_metadata_dict(skip_empty=True)
    return Extract(
        text,
        _title(facts.get("Title", ""), text),
        tuple(pages),
        _headings(pdf, text, pages),
        parse_date(facts.get("ModDate", "")) or parse_date(facts.get("CreationDate", "")),
    )


def _page_lines(pdf: PdfDocument, number: int, origin: Origin) -> list[str]:
    import pypdfium2

    try:
        page = pdf[number]
        text_page = page.get_textpage()
        lines = split_lines(text_page.get_text_range())
        text_page.close()
        page.close()
    except pypdfium2.PdfiumError:
        origin.warn(f"page {number + 1} is damaged")
        return []
    if not any(lines):
        origin.warn(f"page {number + 1} has no text (scanned?)")
    return lines


def _title(named: str, text: str) -> str:
    title = tidy_title(named)
    if title and not _DULL_TITLE.match(title):
        return title
    first = text.split("\n", 1)[0].strip()
    return first if len(first) <= _LONGEST_LINE_AS_TITLE and re.search(r"\w{2}", first) else ""


def _headings(pdf: PdfDocument, text: str, pages: Sequence[int]) -> tuple[Heading, ...]:
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
