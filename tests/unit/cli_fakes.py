"""An engine of fakes for tests of the command line: the real verbs and events, no index and no models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from unit.kits import BRIDGE, LIGHT, PASSAGES, make_kit
from veridical.corpus.source import Refused
from veridical.events import Sink, Trace
from veridical.index.records import Listed, Problem, Stale, Stats
from veridical.ingest import Progress, Report
from veridical.methods.condense import Turn, lean_on
from veridical.methods.rag import Rag
from veridical.models.fake import FakeRetriever, FakeWriter
from veridical.ports import Judge, Writer
from veridical.proofreading import check_text
from veridical.settings import Settings
from veridical.types import Answer, Document, Filter, Passage

PREFIX = "x" * 100  # the passages of the kit begin at character 100 of their documents


class FakeEngine:
    """Remembers what it was asked; whatever `fails` holds is raised by every verb."""

    threshold = 0.5

    def __init__(self, passages: Sequence[Passage] = PASSAGES) -> None:
        self.settings = Settings()
        self.passages = tuple(passages)
        self.asked: list[tuple[str, Filter | None, tuple[Turn, ...]]] = []
        self.report = Report(added=2, documents=2, passages=2, seconds=0.5)
        self.problems: list[Problem] = []
        self.fails: BaseException | None = None
        self.judge: Judge | None = None
        self.writer: Writer = FakeWriter()
        self.closed = False

    def opened_with(self, settings: Settings) -> Self:
        self.settings = settings
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.closed = True

    def _begin(self) -> None:
        if self.fails is not None:
            raise self.fails

    def add(
        self, *paths: str | Path, tags: Sequence[str] = (), on_progress: Callable[[Progress], None] | None = None
    ) -> Report:
        self._begin()
        self.asked.append((" ".join(map(str, (*paths, *tags))), None, ()))
        if on_progress is not None:
            on_progress(Progress("embedding", 1, 2, 50, "/docs/[bold]1.md", 6.0))
        return self.report

    def add_beir(self, corpus: str | Path, on_progress: Callable[[Progress], None] | None = None) -> Report:
        return self.add(corpus, on_progress=on_progress)

    def sync(self, *paths: str | Path, on_progress: Callable[[Progress], None] | None = None) -> Report:
        return self.add(*paths, on_progress=on_progress)

    def rebuild(self, on_progress: Callable[[Progress], None] | None = None) -> Report:
        return self.add(on_progress=on_progress)

    def remove(self, *names: str) -> int:
        self._begin()
        return sum(name == "d1" for name in names)

    def search(self, query: str, k: int | None = None, where: Filter | None = None) -> Sequence[Passage]:
        return self.search_many([query], k, where)[0]

    def search_many(
        self, queries: Sequence[str], k: int | None = None, where: Filter | None = None
    ) -> Sequence[Sequence[Passage]]:
        self._begin()
        self.asked += [(query, where, ()) for query in queries]
        return asyncio.run(FakeRetriever(self.passages).search(queries, k or self.settings.search.k, where))

    def ask(
        self,
        question: str,
        *,
        method: Any = None,
        where: Filter | None = None,
        history: Sequence[Turn] = (),
        sinks: Sequence[Sink] = (),
    ) -> Answer:
        self._begin()
        self.asked.append((question, where, tuple(history)))
        kit = replace(make_kit(passages=self.passages, writer=self.writer, judge=self.judge), trace=Trace(sinks))
        standalone = lean_on(history[-1].question, question) if history else question
        return asyncio.run(Rag()(kit, standalone))

    def verify(self, text: str, passages: Sequence[Passage] | None = None, *, sinks: Sequence[Sink] = ()) -> Answer:
        self._begin()
        kit = replace(make_kit(passages=self.passages, judge=self.judge), trace=Trace(sinks))
        return asyncio.run(check_text(kit, text, passages))

    def document(self, document_id: str) -> Document | None:
        self._begin()
        texts = {"d1": ("Bridges", BRIDGE), "d2": ("Lights", LIGHT)}
        if document_id not in texts:
            return None
        title, text = texts[document_id]
        return Document(document_id, f"/docs/{document_id}.md", title, f"{PREFIX}{text} The end.", pages=(0, 90))

    def documents(self, where: Filter | None = None, limit: int = -1, offset: int = 0) -> Sequence[Listed]:
        self._begin()
        self.asked.append(("", where, ()))
        rows = [
            Listed("d1", "/docs/1.md", "Bridges", "text/markdown", date(2024, 1, 2), (), 1),
            Listed("d2", "/docs/2.pdf", "[red]Lights\x1b[31m", "application/pdf", None, ("a",), 3),
        ]
        return rows[:limit] if limit >= 0 else rows

    def stats(self) -> Stats:
        self._begin()
        return Stats(2, 0, 2, 3, 3, 1, "fake-32", "chunk-1", {"store": 4096, "lexical": 100})

    def stale(self) -> Stale:
        return Stale()

    def check(self) -> Sequence[Problem]:
        return self.problems


REFUSED = Refused("/docs/broken[red].pdf", "it is encrypted", "Save it without a password.")
