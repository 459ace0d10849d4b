"""From files to the index: find, skip what is unchanged, parse in parallel, embed, store in batches.

A batch that was stored is durable and searchable. A killed run leaves its source `partial`; the next run skips
the documents that are already there and goes on.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.corpus import Parsed, ReadOptions, Refused, Source, fingerprint, parse_all, url_source, walk
from veridical.corpus.chunk import chunk
from veridical.corpus.read.records import beir
from veridical.corpus.tokens import open_counter
from veridical.errors import InputRefused
from veridical.index.records import COMPLETE, Entry, SourceRow, content_hash
from veridical.text.passages import searchable_text
from veridical.types import Passage

if TYPE_CHECKING:
    from veridical.index import Index, Writer
    from veridical.ports import Embedder, Vectors

_BATCH_PASSAGES = 128  # some seconds of embedding on two cores: what a killed run loses at most
_EMBED_AT_ONCE = 32  # so that the progress bar moves
_ROOTS = "roots"  # the paths and URLs that were ever added, for `sync` without arguments


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands. `done` of `total` counts sources; `share` is 0..1 by their size."""

    stage: str
    done: int
    total: int
    passages: int
    current: str
    seconds: float
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did. One broken file is a row in `refused`; it never stops the rest."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    documents: int = 0
    passages: int = 0
    refused: tuple[Refused, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0


@dataclass(slots=True)
class _Run:
    """A run as it goes: the report that grows, and the batch that waits to be stored."""

    writer: Writer
    report: Report = Report()
    stage: str = "reading"
    total: int = 0
    done: int = 0
    size: int = 0
    size_done: int = 0
    current: str = ""
    entries: list[Entry] = field(default_factory=list)
    finished: list[SourceRow] = field(default_factory=list)
    begun: set[str] = field(default_factory=set)
    replaced: set[str] = field(default_factory=set)
    began: float = field(default_factory=time.monotonic)

    def count(self, **more: int) -> None:
        self.report = replace(self.report, **{name: getattr(self.report, name) + n for name, n in more.items()})

    def refuse(self, refused: Refused) -> None:
        self.report = replace(self.report, refused=(*self.report.refused, refused))

    def warn(self, uri: str, warnings: Sequence[str]) -> None:
        self.report = replace(self.report, warnings=(*self.report.warnings, *((uri, text) for text in warnings)))

    @property
    def waiting(self) -> int:
        return sum(len(entry.passages) for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Ingest:
    """The ways documents come into an index and leave it. Every method raises IndexBusy while another writes."""

    index: Index
    embedder: Embedder
    options: ReadOptions
    workers: int = 0  # 0 = one a core
    on_progress: Callable[[Progress], None] | None = None

    async def add(self, paths: Sequence[str | Path]) -> Report:
        """Files, folders and URLs. Raises InputRefused when a path does not exist or nothing is there to add."""
        found = await asyncio.to_thread(self._find, paths)
        if not found:
            names = ", ".join(map(str, paths)) or "nothing"
            raise InputRefused(f"there is nothing to add in {names}", fix="name files, or a folder that holds some")
        with self._writing() as run:
            self._remember(run, paths)
            await self._add(run, found)
            await self._refresh(run)
        return self._finish(run)

    async def add_beir(self, corpus: Path) -> Report:
        """A BEIR corpus: one document a line, with its own id."""
        source = await asyncio.to_thread(_beir_source, corpus)
        with self._writing() as run:
            run.total, run.size = 1, source.size
            await self._take_all(run, self._parse_beir(source, corpus))
        return self._finish(run)

    async def sync(self, paths: Sequence[str | Path]) -> Report:
        """As `add`, and removes sources below the paths that are no longer there."""
        roots = [str(path) for path in paths] or self._roots()
        if not roots:
            raise InputRefused("nothing was ever added here", fix="add a folder first: veridical add FOLDER")
        known = [row.uri for row in self.index.sources()]
        there, gone_folders = await asyncio.to_thread(_look_for, roots, known)
        found = await asyncio.to_thread(self._find, there)
        present = {item.uri for item in found}
        gone = [uri for uri in known if uri not in present and not _is_url(uri) and _is_below(uri, roots)]
        gone = [uri for uri in gone if not _is_below(uri, gone_folders)]
        with self._writing() as run:
            for folder in gone_folders:
                fix = f"if that is meant: veridical rm {folder}; if not, bring it back"
                run.refuse(Refused(folder, "the folder is gone; its documents were kept", fix))
            if gone:
                await asyncio.to_thread(run.writer.delete_sources, gone)
                run.count(removed=len(gone))
            await self._add(run, found)
            await self._refresh(run)
        return self._finish(run)

    async def remove(self, names: Sequence[str]) -> int:
        """Sources by path, folder or URL, or documents by id; how many documents went."""
        before = self.index.stats().documents
        known = [row.uri for row in self.index.sources()]
        with self._writing() as run:
            uris = [uri for uri in known if any(uri == name or _is_below(uri, [name]) for name in names)]
            await asyncio.to_thread(run.writer.delete_sources, uris)
            await asyncio.to_thread(run.writer.delete_documents, list(names))
            kept = [root for root in self._roots() if not _is_below(root, list(names))]
            await asyncio.to_thread(run.writer.set_note, _ROOTS, json.dumps(kept))
        return before - self.index.stats().documents

    async def rebuild(self) -> Report:
        """Cuts and embeds again what is stale, then derives the search indexes and duplicate links anew."""
        with self._writing() as run:
            await self._refresh(run)
            self._tell(run, stage="indexing")
            await asyncio.to_thread(run.writer.rebuild)
        return self._finish(run)

    # ── finding ──────────────────────────────────────────────────────────────────────────────────

    def _find(self, paths: Sequence[str | Path]) -> list[Source | Refused]:
        urls = [str(path) for path in paths if _is_url(str(path))]
        files = [Path(path) for path in paths if not _is_url(str(path))]
        return [*walk(files, skip=[self.index.folder]), *(url_source(url) for url in urls)]

    def _is_unchanged(self, source: Source) -> bool:
        row = self.index.source(source.uri)
        if row is None or row.status != COMPLETE or source.path is None or row.size != source.size:
            return False
        return row.modified == source.modified or row.fingerprint == fingerprint(source.path)

    def _roots(self) -> list[str]:
        return [str(root) for root in json.loads(self.index.note(_ROOTS) or "[]")]

    def _remember(self, run: _Run, paths: Sequence[str | Path]) -> None:
        named = [str(path) if _is_url(str(path)) else os.path.abspath(path) for path in paths]  # noqa: PTH100 - not links
        roots = list(dict.fromkeys([*self._roots(), *named]))
        run.writer.set_note(_ROOTS, json.dumps(roots))

    def _parse_beir(self, source: Source, corpus: Path) -> Generator[Parsed]:
        """The corpus in portions, so that it need not fit into memory."""
        count, mark, warnings = open_counter(self.options.tokenizer), fingerprint(corpus), list[str]()
        documents = beir(corpus, warnings.append)
        while portion := list(islice(documents, _BATCH_PASSAGES)):
            cut = [(d, tuple(chunk(d, self.options.chunk_tokens, count, self.options.language))) for d in portion]
            yield Parsed(source, mark, tuple(cut), last=False)
        yield Parsed(source, mark, (), warnings=tuple(warnings))

    # ── storing ──────────────────────────────────────────────────────────────────────────────────

    async def _add(self, run: _Run, found: Sequence[Source | Refused]) -> None:
        run.total = len(found)
        fresh: list[Source | Refused] = []
        for item in found:
            if isinstance(item, Source) and await asyncio.to_thread(self._is_unchanged, item):
                run.count(unchanged=1)
                run.done += 1
            else:
                fresh.append(item)
        run.size = sum(item.size for item in fresh if isinstance(item, Source))
        await self._take_all(run, parse_all(fresh, self.options, self.workers or os.cpu_count() or 1))

    async def _take_all(self, run: _Run, parsed: Generator[Parsed | Refused]) -> None:
        loop = asyncio.get_running_loop()
        # One thread of its own, so that closing waits its turn behind a step that is still under way.
        with ThreadPoolExecutor(1, "parse") as parsing:
            try:
                while (item := await loop.run_in_executor(parsing, next, parsed, None)) is not None:
                    if isinstance(item, Refused):
                        self._refuse(run, item)
                    else:
                        await self._take(run, item)
                await self._flush(run)
            finally:  # stops the worker processes, also when the caller went away
                await loop.run_in_executor(parsing, parsed.close)

    def _refuse(self, run: _Run, refused: Refused) -> None:
        run.refuse(refused)
        run.done += 1
        # One that broke in the middle: what still waits of it is not stored, and an older version of it stays.
        run.entries = [entry for entry in run.entries if entry.source != refused.uri]
        self._tell(run)

    async def _take(self, run: _Run, parsed: Parsed) -> None:
        uri = parsed.source.uri
        known = self.index.source(uri)
        if known and known.status == COMPLETE and known.fingerprint == parsed.fingerprint and uri not in run.begun:
            run.count(unchanged=1)  # touched but not changed, or fetched again
            run.finished.append(replace(known, size=parsed.source.size, modified=parsed.source.modified))
            run.done += 1
            return
        if uri not in run.begun:
            run.begun.add(uri)
            run.writer.begin_source(uri)
            run.replaced |= {uri} if known and known.status == COMPLETE else set()
        stored = self.index.document_hashes(uri) if known else {}
        for document, passages in parsed.documents:
            run.size_done += len(document.text)
            run.current = document.title or document.uri
            if stored.get(document.id) == content_hash(document):
                run.writer.keep(uri, [document.id])
                continue
            run.entries.append(Entry(uri, document, passages, None))
            run.count(documents=1)
            if run.waiting >= _BATCH_PASSAGES:
                await self._flush(run)
        if parsed.last:
            run.count(**{"updated" if uri in run.replaced else "added": 1})
            run.warn(uri, parsed.warnings)
            run.finished.append(
                SourceRow(uri, parsed.fingerprint, parsed.source.size, parsed.source.modified, warnings=parsed.warnings)
            )
            run.done += 1
            self._tell(run)

    async def _flush(self, run: _Run) -> None:
        """Embeds and stores what waits, in one transaction."""
        entries, finished = run.entries, run.finished
        run.entries, run.finished = [], []
        passages = [passage for entry in entries for passage in entry.passages]
        vectors = await self._embed(run, passages)
        start = 0
        whole: list[Entry] = []
        for entry in entries:
            end = start + len(entry.passages)
            whole.append(entry._replace(vectors=vectors[start:end]))
            start = end
        await asyncio.to_thread(run.writer.put, whole, finished)

    async def _embed(self, run: _Run, passages: Sequence[Passage]) -> Vectors:
        """One vector a passage; a text that was embedded before is not embedded again."""
        import numpy as np

        known = self.index.known_vectors(passages)
        vectors = np.zeros((len(passages), self.embedder.dimensions), np.float32)
        fresh = [place for place, passage in enumerate(passages) if passage.id not in known]
        for place, passage in enumerate(passages):
            if passage.id in known:
                vectors[place] = known[passage.id]
        run.count(passages=len(passages) - len(fresh))
        for start in range(0, len(fresh), _EMBED_AT_ONCE):
            places = fresh[start : start + _EMBED_AT_ONCE]
            vectors[places] = await self.embedder.embed([searchable_text(passages[place]) for place in places])
            run.count(passages=len(places))
            self._tell(run)
        return vectors

    async def _refresh(self, run: _Run) -> None:
        """Brings what another chunker or embedder made up to date, batch by batch, so that it can be interrupted."""
        count = open_counter(self.options.tokenizer)
        while documents := self.index.documents_with_other_chunker(32):
            self._tell(run, stage="cutting again")
            for source, document in documents:
                passages = await asyncio.to_thread(
                    chunk, document, self.options.chunk_tokens, count, self.options.language
                )
                run.entries.append(Entry(source, document, tuple(passages), None))
            run.finished = [row for uri in {source for source, _ in documents} if (row := self.index.source(uri))]
            await self._flush(run)
        while rows := self.index.passages_without_vector(_BATCH_PASSAGES):
            self._tell(run, stage="embedding again")
            vectors = await self._embed(run, [passage for _, passage in rows])
            await asyncio.to_thread(run.writer.put_vectors, [row for row, _ in rows], vectors)

    # ── around it ────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _writing(self) -> Iterator[_Run]:
        with self.index.writer() as writer:
            yield _Run(writer)

    def _tell(self, run: _Run, stage: str | None = None) -> None:
        run.stage = stage or run.stage
        if self.on_progress is not None:
            share = min(run.size_done / run.size, 1.0) if run.size else 0.0
            seconds = time.monotonic() - run.began
            self.on_progress(Progress(run.stage, run.done, run.total, run.report.passages, run.current, seconds, share))

    def _finish(self, run: _Run) -> Report:
        return replace(run.report, seconds=time.monotonic() - run.began)


def _beir_source(corpus: Path) -> Source:
    if not corpus.is_file():
        raise InputRefused(f"there is no file {corpus}", fix="point --beir at a corpus.jsonl or corpus.jsonl.gz")
    facts = corpus.stat()
    return Source(corpus.absolute().as_posix(), corpus, facts.st_size, facts.st_mtime)


def _look_for(roots: Sequence[str], known: Sequence[str]) -> tuple[list[str], list[str]]:
    """The roots that are there, and the folders that are not: an unplugged disk must not empty the index."""
    there = [root for root in roots if _is_url(root) or Path(root).exists()]
    files = set(known)
    folders = [root for root in roots if root not in there and os.path.abspath(root) not in files]  # noqa: PTH100
    return there, folders


def _is_url(name: str) -> bool:
    return name.startswith(("http://", "https://"))


def _is_below(uri: str, roots: Sequence[str]) -> bool:
    for root in roots:
        base = root if _is_url(root) else os.path.abspath(root)  # noqa: PTH100 - links are kept as they were added
        if uri == base or uri.startswith(base.rstrip("/") + "/"):
            return True
    return False
