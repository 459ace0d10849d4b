"""Regenerates the sample corpus's binary documents from the texts in scripts/sample_sources.

    python scripts/make_sample.py            # writes into src/veridical/sample/corpus
    python scripts/make_sample.py --check    # says which files differ, exit code 1 if any does

A source `harbour/dues.docx.md` becomes `harbour/dues.docx`. Its markup is small: `# ` and `## ` headings,
`- ` items, `| a | b |` tables, `---` for a new page, slide, sheet or chapter, `Notes: ` for speaker's notes, all
else paragraphs of one line. The output is the same, byte for byte, for the same versions of the libraries.

Needs reportlab 5 (BSD licence; for the PDFs; not a dependency of the package), python-docx, python-pptx, openpyxl.
"""

from __future__ import annotations

import argparse
import html
import io
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "scripts" / "sample_sources"
CORPUS = ROOT / "src" / "veridical" / "sample" / "corpus"
AUTHOR = "Ostrey Harbour and Lights Authority"
STAMP = b"2024-06-01T00:00:00Z"
ZIP_DATE = (2024, 6, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Block:
    """One heading, paragraph, item, note or table; `rows` is filled for a table alone."""

    kind: str  # h1 | h2 | text | item | note | table
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


_PREFIXES = (("## ", "h2"), ("# ", "h1"), ("- ", "item"), ("Notes: ", "note"))


def parse(source: str) -> list[list[Block]]:
    """The source's parts (pages, slides, sheets, chapters), each a list of blocks."""
    return [parse_part(part) for part in re.split(r"^---$", source, flags=re.MULTILINE)]


def parse_part(part: str) -> list[Block]:
    blocks: list[Block] = []
    rows: list[tuple[str, ...]] = []
    for line in [*part.splitlines(), ""]:
        if line.startswith("|"):
            cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
            if not all(re.fullmatch(r"-+", cell) for cell in cells):
                rows.append(cells)
            continue
        if rows:
            blocks.append(Block("table", rows=tuple(rows)))
            rows = []
        if line.strip():
            blocks.append(parse_line(line))
    return blocks


def parse_line(line: str) -> Block:
    for prefix, kind in _PREFIXES:
        if line.startswith(prefix):
            return Block(kind, line.removeprefix(prefix))
    return Block("text", line)


def title_of(parts: list[list[Block]]) -> str:
    return next(block.text for block in parts[0] if block.kind == "h1")


# ── one function a format ────────────────────────────────────────────────────────────────────────


def make_pdf(parts: list[list[Block]]) -> bytes:
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.lib.units import mm
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

    sheet = getSampleStyleSheet()
    styles = {"h1": sheet["Title"], "h2": sheet["Heading2"], "text": sheet["BodyText"]}
    styles["text"].fontSize, styles["text"].leading = 11, 15
    flow: list[object] = []
    for number, part in enumerate(parts):
        if number:
            flow.append(PageBreak())
        for block in part:
            if block.kind == "table":
                grid = [("GRID", (0, 0), (-1, -1), 0.4, "grey"), ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 10)]
                flow += [Spacer(1, 3 * mm), Table([list(row) for row in block.rows], hAlign="LEFT", style=grid)]
                flow.append(Spacer(1, 3 * mm))
            else:
                flow.append(Paragraph(html.escape(block.text), styles[block.kind]))
    out = io.BytesIO()
    layout = dict.fromkeys(("leftMargin", "rightMargin", "topMargin", "bottomMargin"), 25 * mm)
    # `invariant` fixes the dates and the file id, which would otherwise change with every run.
    template = SimpleDocTemplate(out, pagesize=A4, invariant=1, title=title_of(parts), author=AUTHOR, **layout)
    template.build(flow)
    return out.getvalue()


def make_docx(parts: list[list[Block]]) -> bytes:
    import docx

    document = docx.Document()
    document.core_properties.title, document.core_properties.author = title_of(parts), AUTHOR
    for block in (block for part in parts for block in part):
        if block.kind == "table":
            table = document.add_table(rows=0, cols=len(block.rows[0]), style="Table Grid")
            for row in block.rows:
                for cell, text in zip(table.add_row().cells, row, strict=True):
                    cell.text = text
        elif block.kind in ("h1", "h2"):
            document.add_heading(block.text, level=int(block.kind[1]))
        else:
            document.add_paragraph(block.text, style="List Bullet" if block.kind == "item" else None)
    out = io.BytesIO()
    document.save(out)
    return repack(out.getvalue())


def make_pptx(parts: list[list[Block]]) -> bytes:
    from pptx import Presentation
    from pptx.util import Cm

    show = Presentation()
    show.core_properties.title, show.core_properties.author = title_of(parts), AUTHOR
    for part in parts:
        tables = [block for block in part if block.kind == "table"]
        slide = show.slides.add_slide(show.slide_layouts[5 if tables else 1])
        slide.shapes.title.text = next(block.text for block in part if block.kind == "h1")
        lines = [block.text for block in part if block.kind in ("text", "item")]
        if lines:
            slide.placeholders[1].text = "\n".join(lines)
        for block in tables:
            size = (len(block.rows), len(block.rows[0]))
            table = slide.shapes.add_table(*size, Cm(2), Cm(5), Cm(21), Cm(8)).table
            for i, row in enumerate(block.rows):
                for j, text in enumerate(row):
                    table.cell(i, j).text = text
        for block in part:
            if block.kind == "note":
                slide.notes_slide.notes_text_frame.text = block.text
    out = io.BytesIO()
    show.save(out)
    return repack(out.getvalue())


def make_xlsx(parts: list[list[Block]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    book.properties.title, book.properties.creator = title_of(parts), AUTHOR
    for part in parts:
        sheet = book.create_sheet(part[0].text)
        for row in part[1].rows:
            sheet.append([int(cell) if cell.isdigit() else cell or None for cell in row])
        sheet.column_dimensions["A"].width = 32
    out = io.BytesIO()
    book.save(out)
    return repack(out.getvalue())


def make_epub(parts: list[list[Block]]) -> bytes:
    names = [f"chapter{number}.xhtml" for number in range(1, len(parts) + 1)]
    manifest = "".join(f'<item id="{n}" href="{n}" media-type="application/xhtml+xml"/>' for n in names)
    spine = "".join(f'<itemref idref="{n}"/>' for n in names)
    links = "".join(f'<li><a href="{n}">{title_of([part])}</a></li>' for n, part in zip(names, parts, strict=True))
    nav = xhtml(title_of(parts), f'<nav epub:type="toc"><ol>{links}</ol></nav>')
    members = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
        '<rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>",
        "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">ostrey-tales</dc:identifier>'
        f"<dc:title>{title_of(parts)}</dc:title><dc:language>en</dc:language>"
        '<meta property="dcterms:modified">2024-06-01T00:00:00Z</meta></metadata>'
        '<manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        f"{manifest}</manifest><spine>{spine}</spine></package>",
        "OEBPS/nav.xhtml": nav,
    }
    for name, part in zip(names, parts, strict=True):
        tags = ((("p" if block.kind == "text" else block.kind), html.escape(block.text)) for block in part)
        members[f"OEBPS/{name}"] = xhtml(title_of([part]), "".join(f"<{tag}>{text}</{tag}>\n" for tag, text in tags))
    return pack((name, text.encode()) for name, text in members.items())


def xhtml(title: str, body: str) -> str:
    spaces = 'xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"'
    head = f"<head><title>{html.escape(title)}</title></head>"
    return f'<?xml version="1.0" encoding="utf-8"?>\n<html {spaces} lang="en">{head}<body>\n{body}</body></html>\n'


# ── archives without the time of day ─────────────────────────────────────────────────────────────


def pack(members: Iterable[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name, ZIP_DATE)
            # EPUB demands that its first member, `mimetype`, is stored as it is.
            info.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return out.getvalue()


def repack(office_file: bytes) -> bytes:
    """The same archive with every date fixed."""
    with zipfile.ZipFile(io.BytesIO(office_file)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    dated = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")
    return pack(
        (name, dated.sub(rb"\g<1>" + STAMP, content) if name == "docProps/core.xml" else content)
        for name, content in members
    )


MAKERS: dict[str, Callable[[list[list[Block]]], bytes]] = {
    ".pdf": make_pdf,
    ".docx": make_docx,
    ".pptx": make_pptx,
    ".xlsx": make_xlsx,
    ".epub": make_epub,
}


def make_all(target: Path) -> list[Path]:
    """Writes every generated document below `target` and returns their relative paths, sorted."""
    made = []
    for source in sorted(SOURCES.rglob("*.md")):
        relative = source.relative_to(SOURCES).with_suffix("")
        content = MAKERS[relative.suffix](parse(source.read_text(encoding="utf-8")))
        path = target / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        made.append(relative)
    return made


def main() -> int:
    arguments = argparse.ArgumentParser(description="Regenerate the sample corpus's binary documents.")
    arguments.add_argument("--check", action="store_true", help="only say which files differ")
    if not arguments.parse_args().check:
        for relative in make_all(CORPUS):
            print(f"{relative}  {(CORPUS / relative).stat().st_size:,} bytes")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        made = make_all(Path(scratch))
        stale = [str(r) for r in made if (Path(scratch) / r).read_bytes() != (CORPUS / r).read_bytes()]
    print("\n".join(f"differs: {name}" for name in stale) or "all up to date")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
