"""DOCX: paragraphs in order, headings by their style, tables row by row."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from veridical.corpus.read.archive import open_archive, refusing_damage
from veridical.corpus.read.layout import Layout
from veridical.corpus.read.origin import Extract, Origin
from veridical.types import Document

_HEADING_STYLE = re.compile(r"heading (\d)$", re.IGNORECASE)


def read(origin: Origin) -> Iterator[Document]:
    import docx
    from docx.opc.exceptions import OpcError

    content = origin.content()
    open_archive(content).close()
    with refusing_damage("DOCX", OpcError):
        file = docx.Document(io.BytesIO(content))
        layout = Layout()
        for block in file.iter_inner_content():
            _add(layout, block)
        facts = file.core_properties
        title = facts.title or (layout.headings[0].path[0] if layout.headings else "")
        modified = facts.modified or facts.created
    yield origin.document(
        Extract(layout.text, title, headings=tuple(layout.headings), date=modified.date() if modified else None)
    )


def _add(layout: Layout, block: object) -> None:
    from docx.table import Table
    from docx.text.paragraph import Paragraph

    if isinstance(block, Table):
        for row in block.rows:
            # A merged cell comes once for each column it spans.
            cells = dict.fromkeys((cell._tc, " ".join(cell.text.split())) for cell in row.cells)
            layout.block(" | ".join(text for _, text in cells), run="table")
    elif isinstance(block, Paragraph):
        style = (block.style.name if block.style else "") or ""
        level = _HEADING_STYLE.match(style)
        if level or style == "Title":
            layout.heading(int(level[1]) if level else 1, block.text)
        else:
            layout.block(block.text, run="list" if style.startswith("List") else "")
