"""Documents for index tests: one passage a paragraph, embedded by the fake."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from veridical.index import Entry, Index, SearchOptions
from veridical.models.fake import FakeEmbedder
from veridical.text.passages import searchable_text
from veridical.types import Document, Filter, Passage, Span


def document(name: str, text: str, **fields: Any) -> Document:
    return Document(
        id=name, uri=fields.pop("uri", f"/kb/{name}.txt"), title=fields.pop("title", ""), text=text, **fields
    )


def cut(whole: Document) -> list[Passage]:
    passages = []
    start = 0
    for ordinal, part in enumerate(whole.text.split("\n\n")):
        span = Span(start, start + len(part))
        passages.append(Passage(f"{whole.id}#{ordinal}", whole.id, part, span, whole.title, whole.uri))
        start = span.end + 2
    return passages


def entry(name: str, text: str, embedder: FakeEmbedder | None = None, **fields: Any) -> Entry:
    source = fields.pop("source", None)
    whole = document(name, text, **fields)
    passages = cut(whole)
    vectors = asyncio.run((embedder or FakeEmbedder()).embed([searchable_text(passage) for passage in passages]))
    return Entry(source or whole.uri, whole, passages, vectors)


def open_index(folder: Path, embedder: FakeEmbedder | None = None, **named: Any) -> Index:
    return Index.open(folder, embedder or FakeEmbedder(), create=True, **named)


def found(index: Index, query: str, k: int = 10, where: Filter | None = None, mode: Any = "hybrid") -> list[str]:
    return [passage.id for passage in hits(index, query, k, where, mode)]


def hits(index: Index, query: str, k: int = 10, where: Filter | None = None, mode: Any = "hybrid") -> Sequence[Passage]:
    return asyncio.run(index.search([query], k, where, SearchOptions(mode=mode)))[0]
