"""PPTX: a slide is a page, its title a heading; tables and speaker notes are read too."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from veridical.corpus.read.archive import open_archive, refusing_damage
from veridical.corpus.read.layout import Layout
from veridical.corpus.read.origin import Extract, Origin
from veridical.types import Document


def read(origin: Origin) -> Iterator[Document]:
    from pptx import Presentation
    from pptx.exc import PythonPptxError

    content = origin.content()
    open_archive(content).close()
    with refusing_damage("PPTX", PythonPptxError):
        deck = Presentation(io.BytesIO(content))
        layout = Layout()
        for slide in deck.slides:
            _add_slide(layout, slide)
        facts = deck.core_properties
        named, modified = facts.title, facts.modified
    first = layout.headings[0].path[0] if layout.headings else ""
    dull = not named or named == "PowerPoint Presentation"
    yield origin.document(
        Extract(
            layout.text,
            first if dull else named,
            tuple(layout.pages),
            tuple(layout.headings),
            modified.date() if modified else None,
        )
    )


def _add_slide(layout: Layout, slide: Any) -> None:
    layout.page()
    title = slide.shapes.title
    if title is not None and title.has_text_frame and title.text_frame.text.strip():
        layout.heading(1, title.text_frame.text)
    elif layout.headings:
        layout.section(1, f"Slide {len(layout.pages)}")  # or the slide would stand under the one before
    for shape in _flatten(slide.shapes):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        if shape.has_text_frame:
            layout.block("\n".join(paragraph.text for paragraph in shape.text_frame.paragraphs))
        elif getattr(shape, "has_table", False):
            for row in shape.table.rows:
                layout.block(" | ".join(" ".join(cell.text.split()) for cell in row.cells), run="table")
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None and notes.text.strip():
        layout.block(f"Notes: {notes.text}")


def _flatten(shapes: Iterable[Any]) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes"):  # a group
            yield from _flatten(shape.shapes)
        else:
            yield shape
