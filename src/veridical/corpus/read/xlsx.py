"""XLSX: a sheet is a section, a row a paragraph of `column: value` lines under the first row's names."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Any

from veridical.corpus.read.archive import open_archive, refusing_damage
from veridical.corpus.read.layout import Layout
from veridical.corpus.read.origin import Extract, Origin
from veridical.types import Document


def read(origin: Origin) -> Iterator[Document]:
    content = origin.content()
    open_archive(content).close()
    layout = Layout()
    with refusing_damage("XLSX"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of every style and extension it does not know
        title, modified = _read_book(content, layout)
    yield origin.document(Extract(layout.text, title, headings=tuple(layout.headings), date=modified))


def _read_book(content: bytes, layout: Layout) -> tuple[str, date | None]:
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    try:
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # some programs write a wrong size, and rows beyond it would be lost
            _add_sheet(layout, sheet.title, sheet.iter_rows(values_only=True))
        facts = book.properties
        return facts.title or "", facts.modified.date() if facts.modified else None
    finally:
        book.close()


def _add_sheet(layout: Layout, name: str, rows: Iterable[tuple[Any, ...]]) -> None:
    filled = (row for row in ([_text(value) for value in row] for row in rows) if any(row))
    header = next(filled, None)
    if header is None:
        return
    layout.heading(1, name)
    names = [cell or f"column {number}" for number, cell in enumerate(header, start=1)]
    alone = True
    for row in filled:
        alone = False
        extra = [f"column {number}" for number in range(len(names) + 1, len(row) + 1)]
        pairs = zip([*names, *extra], row, strict=False)
        layout.block("\n".join(f"{column}: {value}" for column, value in pairs if value))
    if alone:
        layout.block(" | ".join(cell for cell in header if cell))


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        return value.date().isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return " ".join(str(value).split())
