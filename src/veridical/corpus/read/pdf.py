"""PDF: page by page, lines joined back into paragraphs, the outline as headings.

pdfium is not thread-safe: one thread of a process may read PDFs at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from veridical.corpus.read.decode import clean
from veridical.corpus.read.origin import Extract, Origin, parse_date, tidy_title
from veridical.errors import InputRefused
from veridical.types import Document, Heading

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_TAIL_BYTES = 4096  # where a complete file says %%EOF, generously
_BROKEN_WORD = re.compile("[\x02\xad\ufffe]\\s*\n?")  # pdfium's mark for a hyphen that only breaks a word
_SOFT_HYPHEN = "\xad"
_BULLET = re.compile(r"\s*(?:[-*•‣–▪◦]|\(?\d{1,3}[.)]|\(?[a-z]\))\s")
_ENDS_SENTENCE = re.compile(r"[.!?:。！？؟…][\"'”’)\]]*$")
_FULL_LINE = 0.7  # of the page's usual line: shorter ones end a paragraph, or are headings, rows and items
_SHORTEST_FULL_LINE = 20  # a page of shorter lines is no prose
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
    for number in range(len(pdf)):
        body = _page_text(pdf, number, origin)
        if body and pieces:
            # A sentence that runs over the page's end stays one: only a finished one gets an empty line.
            gap = "\n\n" if _ENDS_SENTENCE.search(pieces[-1]) else "\n"
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


def _page_text(pdf: PdfDocument, number: int, origin: Origin) -> str:
    import pypdfium2

    try:
        page = pdf[number]
        text_page = page.get_textpage()
        body = join_lines(text_page.get_text_range())
        text_page.close()
        page.close()
    except pypdfium2.PdfiumError:
        origin.warn(f"page {number + 1} is damaged")
        return ""
    if not body:
        origin.warn(f"page {number + 1} has no text (scanned?)")
    return body


def join_lines(raw: str) -> str:
    """A page's lines as paragraphs: full lines run on, a short line that ends a sentence ends its paragraph."""
    marked = _BROKEN_WORD.sub(_SOFT_HYPHEN + "\n", raw.replace("\r\n", "\n"))
    lines = [" ".join(line.split()) for line in clean(marked).split("\n")]
    full = max(_FULL_LINE * _usual_length(lines), _SHORTEST_FULL_LINE)
    text = above = ""
    for line in lines:
        if line:
            text = _join(text, line, short=len(above) < full) if above else f"{text}{line}"
        elif above:
            text += "\n\n"
        above = line
    return text.replace(_SOFT_HYPHEN, "-").strip()


def _join(text: str, line: str, *, short: bool) -> str:
    """`text` and its next line; `short` says that the line above did not reach the margin."""
    if text.endswith(_SOFT_HYPHEN):
        return text[:-1] + ("" if line[:1].islower() else "-") + line
    if re.search(r"\w[-‐]$", text) and line[:1].islower() and not short:
        return text[:-1] + line
    if short and _ENDS_SENTENCE.search(text):
        return f"{text}\n\n{line}"
    return f"{text}\n{line}" if short or _BULLET.match(line) else f"{text} {line}"


def _usual_length(lines: Sequence[str]) -> float:
    lengths = sorted(len(line) for line in lines if line)
    return lengths[int(len(lengths) * 0.8)] if lengths else 0


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
