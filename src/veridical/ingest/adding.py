"""The ways documents come into an index and leave it.

A batch that was stored is durable and searchable. A killed or cancelled run leaves its source `partial`; the next
run skips the documents that are already there and goes on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.corpus import Parsed, Parsing, ReadOptions, Refused, Source, beir, chunk, fingerprint, parse_all
from veridical.corpus.fingerprint import reader_fingerprint
from veridical.corpus.tokens import open_counter
from veridical.errors import InputRefused
from veridical.index import COMPLETE, Entry, Index, SourceRow
from veridical.index.records import content_hash
from veridical.ingest.roots import NOTE, Roots, as_root, is_url
from veridical.ingest.run import Progress, Report, Run
from veridical.ingest.survey import beir_source, find, survey, worth_a_look
from veridical.ingest.writing import Writing
from veridical.text.passages import searchable_text
from veridical.types import Document, Passage

if TYPE_CHECKING:
    from veridical.ports import Embedder, Vectors

_BATCH_PASSAGES = 128  # some seconds of embedding on two cores: what a killed run loses at most
_EMBED_AT_ONCE = 32  # so that the progress bar moves
_CUT_AT_ONCE = 32  # documents that are cut again between two commits


@dataclass(frozen=True, slots=True)
class Ingest:
    """Every method raises IndexBusy while another process writes."""

    index: Index
    embedder: Embedder
    options: ReadOptions
    workers: int = 0  # 0 = one a core
    tags: tuple[str, ...] = ()
    on_progress: Callable[[Progress], None] | None = None

    async def add(self, paths: Sequence[str | Path]) -> Report:
        """Files, folders and URLs. Raises InputRefused when a path does not exist or nothing is there to add."""
        found = await asyncio.to_thread(find, paths, self.index.folder)
        if not found:
            names = ", ".join(map(str, paths)) or "nothing"
            raise InputRefused(f"there is nothing to add in {names}", fix="name files, or a folder that holds some")
        async with self._writing() as run:
            await run.remember(run.roots.with_added(paths, self.tags))
            await self._add(run, found)
            never_read = [item.uri for item in run.report().refused if is_url(item.uri)]
            await run.remember(run.roots.without([url for url in never_read if self.index.source(url) is None]))
            await self._refresh(run)
        return run.report()

    async def add_beir(self, corpus: Path) -> Report:
        """A BEIR corpus: one document a line, with its own id."""
        source = await asyncio.to_thread(beir_source, corpus)
        async with self._writing() as run:
            await run.remember(run.roots.with_added([corpus], self.tags, beir=True))
            await self._add_beir(run, source)
        return run.report()

    async def sync(self, paths: Sequence[str | Path]) -> Report:
        """As `add`, and removes what is no longer there; without paths, below everything that was ever added.

        An unplugged disk must not empty the index: the documents of a folder that is gone as a whole, empty where
        it was not, or closed to us, are kept and reported.
        """
        known = [row.uri for row in await asyncio.to_thread(self.index.sources)]
        remembered = Roots.read(await asyncio.to_thread(self.index.note, NOTE))
        named = [remembered.get(path) for path in paths]
        roots = named or await asyncio.to_thread(worth_a_look, remembered, known)
        if not roots:
            raise InputRefused("nothing was ever added here", fix="add a folder first: veridical add FOLDER")
        seen = await asyncio.to_thread(survey, roots, known, self.index.folder)
        async with self._writing() as run:
            await run.remember(run.roots.with_added([root.name for root in named]).without(seen.gone))
            for name in seen.lost:
                run.refuse(Refused(name, "nothing is left there; its documents were kept", f"veridical rm {name}"))
            if seen.gone:
                await run.writing.do(run.writing.writer.delete_sources, seen.gone)
                run.count(removed=len(seen.gone))
            await self._add(run, seen.found)
            for source in seen.corpora:
                await self._add_beir(run, source)
            await self._refresh(run)
        return run.report()

    async def remove(self, names: Sequence[str]) -> int:
        """Sources by path, folder or URL, or documents by id; how many documents went."""
        before = (await asyncio.to_thread(self.index.stats)).documents
        gone = [as_root(name) for name in names]
        async with self._writing() as run:
            known = [row.uri for row in await asyncio.to_thread(self.index.sources)]
            uris = [uri for uri in known if any(root.holds(uri) for root in gone)]
            await run.writing.do(run.writing.writer.delete_sources, uris)
            await run.writing.do(run.writing.writer.delete_documents, list(names))
            await run.remember(run.roots.without(names))
        return before - (await asyncio.to_thread(self.index.stats)).documents

    async def rebuild(self) -> Report:
        """Cuts and embeds again what is stale, then derives the search indexes and duplicate links anew."""
        async with self._writing() as run:
            await self._refresh(run)
            run.tell(stage="indexing")
            await run.writing.do(run.writing.writer.rebuild)
        return run.report()

    # ── storing ──────────────────────────────────────────────────────────────────────────────────

    def _is_unchanged(self, source: Source, tags: Sequence[str]) -> bool:
        row = self.index.source(source.uri)
        if row is None or row.status != COMPLETE or source.path is None or row.size != source.size:
            return False
        read_otherwise = not row.fingerprint.startswith(reader_fingerprint(self.options))
        if read_otherwise or not set(tags) <= set(self.index.tags(source.uri)):
            return False
        try:
            return row.modified == source.modified or row.fingerprint == fingerprint(source.path, self.options)
        except OSError:
            return False  # reading it will say what is wrong

    async def _add(self, run: _Open, found: Sequence[Source | Refused]) -> None:
        found = list({item.uri: item for item in found}.values())  # roots may overlap
        run.total += len(found)
        fresh: list[Source | Refused] = []
        for item in found:
            tags = run.roots.tags_of(item.uri)
            if isinstance(item, Source) and await asyncio.to_thread(self._is_unchanged, item, tags):
                run.count(unchanged=1)
                run.done += 1
            else:
                fresh.append(item)
        run.size += sum(item.size for item in fresh if isinstance(item, Source))
        await self._take_all(run, parse_all(fresh, self.options, self.workers or os.cpu_count() or 1))

    async def _add_beir(self, run: _Open, source: Source) -> None:
        run.total += 1
        run.size += source.size
        if await asyncio.to_thread(self._is_unchanged, source, run.roots.tags_of(source.uri)):
            run.count(unchanged=1)
            run.done += 1
        else:
            await self._take_all(run, self._parse_beir(source))

    def _parse_beir(self, source: Source) -> Generator[Parsed | Refused]:
        """The corpus in portions, so that it need not fit into memory."""
        assert source.path is not None
        count, warnings = open_counter(self.options.tokenizer), list[str]()
        mark = fingerprint(source.path, self.options)
        documents = beir(source.path, warnings.append)
        while portion := list(islice(documents, _BATCH_PASSAGES)):
            cut = [(d, tuple(chunk(d, self.options.chunk_tokens, count, self.options.language))) for d in portion]
            yield Parsed(source, mark, tuple(cut), last=False)
        yield Parsed(source, mark, (), warnings=tuple(warnings))

    async def _take_all(self, run: _Open, parsed: Generator[Parsed | Refused]) -> None:
        loop = asyncio.get_running_loop()
        # One thread of its own, so that closing waits its turn behind a step that is still under way.
        with ThreadPoolExecutor(1, "veridical-parse") as parsing:
            try:
                while (item := await loop.run_in_executor(parsing, next, parsed, None)) is not None:
                    if isinstance(item, Refused):
                        self._refuse(run, item)
                    else:
                        await self._take(run, item)
                await self._flush(run)
            finally:  # also when the caller went away; a worker that hangs over a file is not waited for
                if isinstance(parsed, Parsing):
                    parsed.stop()
                await loop.run_in_executor(parsing, parsed.close)

    def _refuse(self, run: _Open, refused: Refused) -> None:
        # A very long source may break in the middle. What waits of it is dropped; what was stored of it stays, and the
        # source stays partial, so that the next run reads it again.
        run.entries = [entry for entry in run.entries if entry.source != refused.uri]
        run.refuse(refused)
        run.done += 1
        run.tell()

    async def _take(self, run: _Open, parsed: Parsed) -> None:
        uri = parsed.source.uri
        tags = run.roots.tags_of(uri)
        documents = [(_tagged(document, tags), passages) for document, passages in parsed.documents]
        known, stored = await asyncio.to_thread(self._known, uri, [document.id for document, _ in documents])
        if uri not in run.begun:
            run.begun.add(uri)
            run.writing.writer.begin_source(uri)
            run.replaced |= {uri} if known and known.status == COMPLETE else set()
        put = 0
        for document, passages in documents:
            run.size_done += len(document.text)
            run.current = document.title or document.uri
            if stored.get(document.id) == content_hash(document):
                run.writing.writer.keep(uri, [document.id])
                continue
            put += 1
            run.entries.append(Entry(uri, document, passages, None))
            run.count(documents=1)
            if run.waiting >= _BATCH_PASSAGES:
                await self._flush(run)
        if put:
            run.changed.add(uri)
        if parsed.last:
            self._end(run, parsed)

    def _end(self, run: _Open, parsed: Parsed) -> None:
        uri, source = parsed.source.uri, parsed.source
        # Touched, or fetched again, but not changed.
        same = uri in run.replaced and uri not in run.changed
        run.count(**{"unchanged" if same else "updated" if uri in run.replaced else "added": 1})
        run.warn(uri, parsed.warnings)
        run.finished.append(SourceRow(uri, parsed.fingerprint, source.size, source.modified, warnings=parsed.warnings))
        run.done += 1
        run.tell()

    def _known(self, uri: str, document_ids: Sequence[str]) -> tuple[SourceRow | None, dict[str, str]]:
        known = self.index.source(uri)
        return known, self.index.document_hashes(uri, document_ids) if known else {}

    async def _flush(self, run: _Open) -> None:
        """Embeds and stores what waits, in one transaction."""
        entries, finished = run.entries, run.finished
        run.entries, run.finished = [], []
        vectors = await self._embed(run, [passage for entry in entries for passage in entry.passages])
        start = 0
        whole: list[Entry] = []
        for entry in entries:
            end = start + len(entry.passages)
            whole.append(entry._replace(vectors=vectors[start:end]))
            start = end
        await run.writing.do(run.writing.writer.put, whole, finished)

    async def _embed(self, run: _Open, passages: Sequence[Passage]) -> Vectors:
        """One vector a passage; a text that was embedded before is not embedded again."""
        import numpy as np

        known = await asyncio.to_thread(self.index.known_vectors, passages)
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
            run.tell()
        return vectors

    async def _refresh(self, run: _Open) -> None:
        """Brings what another chunker or embedder made up to date, batch by batch, so that it can be interrupted."""
        count = open_counter(self.options.tokenizer)
        while documents := await asyncio.to_thread(self.index.documents_with_other_chunker, _CUT_AT_ONCE):
            run.tell(stage="cutting again")
            for source, document in documents:
                passages = await asyncio.to_thread(
                    chunk, document, self.options.chunk_tokens, count, self.options.language
                )
                run.entries.append(Entry(source, document, tuple(passages), None))
            rows = [self.index.source(uri) for uri in {source for source, _ in documents}]
            run.finished = [row for row in rows if row and row.status == COMPLETE]
            await self._flush(run)
        while rows_without := await asyncio.to_thread(self.index.passages_without_vector, _BATCH_PASSAGES):
            run.tell(stage="embedding again")
            vectors = await self._embed(run, [passage for _, passage in rows_without])
            await run.writing.do(run.writing.writer.put_vectors, [row for row, _ in rows_without], vectors)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[_Open]:
        async with Writing(self.index) as writing:
            roots = Roots.read(await asyncio.to_thread(self.index.note, NOTE))
            yield _Open(self.on_progress, writing=writing, roots=roots)


@dataclass(slots=True, kw_only=True)
class _Open(Run):
    """A run while the index is open for writing."""

    writing: Writing
    roots: Roots
    changed: set[str] = field(default_factory=set)

    async def remember(self, roots: Roots) -> None:
        self.roots = roots
        await self.writing.do(self.writing.writer.set_note, NOTE, str(roots))


def _tagged(document: Document, tags: Sequence[str]) -> Document:
    return replace(document, tags=tuple(dict.fromkeys([*document.tags, *tags]))) if tags else document
