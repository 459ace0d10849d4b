"""`Index`: the store and its two derived indexes as one retriever that many processes may read."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from veridical.errors import ConfigError, CorruptIndex, IndexBusy, IndexMissing, StorageFull, VeridicalError
from veridical.index.check import check
from veridical.index.dense import DenseIndex, Scan
from veridical.index.faults import storage_faults
from veridical.index.fuse import join
from veridical.index.lexical import Lexical
from veridical.index.lock import holder_of
from veridical.index.records import Listed, Problem, SearchOptions, SourceRow, Stale, Stats, storable
from veridical.index.schema import connect
from veridical.index.store import Hit, Store
from veridical.index.writer import Identity, Writer
from veridical.ports import Embedder, Vectors
from veridical.types import Document, Filter, Passage

Hits = list[tuple[int, float]]

_WORD = re.compile(r"\w")
_MANY = 1_000  # above this, k is compared with what there is
_PATIENCE_S = 0.25  # for a live writer that is between its commit to the store and those to the derived indexes
_MOST_COPIES = 20  # near-duplicates named in also_in


class Index:
    """A retriever over one folder. Open it with `Index.open`; close it, or use it as a context manager."""

    def __init__(self, identity: Identity, store: Store, embedder: Embedder | None, options: SearchOptions) -> None:
        self._identity = identity
        self._store = store
        self._embedder = embedder
        self._options = options
        self._lexical = Lexical(identity.lexical)
        self._dense: DenseIndex | None = Scan(identity.dense, identity.dimensions) if identity.embedder else None
        self._number = 0  # of the embedder in the store
        self._version = -1  # of the store, when the derived indexes were last seen to follow it
        self._refreshing = threading.Lock()

    @classmethod
    def open(
        cls,
        folder: Path | str,
        embedder: Embedder | None = None,
        *,
        chunker_fingerprint: str = "",
        options: SearchOptions | None = None,
        create: bool = False,
    ) -> Index:
        """Opens an index, and brings its derived indexes up to date when no other process is writing.

        Without an embedder everything works but searching by vector and adding vectors of a new embedder.
        Where nothing may be written, an index that is up to date can still be searched. Raises IndexMissing when
        there is none and `create` is false, CorruptIndex when it cannot be read, ConfigError when the folder cannot
        be made or used.
        """
        folder = Path(folder)
        with storage_faults(folder):
            _check_folder(folder, create=create)
        with ExitStack() as undo:
            store = Store(connect(folder, create=create), folder)
            undo.callback(store.close)
            identity = _identify(store, embedder, chunker_fingerprint)
            index = cls(identity, store, embedder, options or SearchOptions())
            undo.callback(index.close)
            index._refresh(opening=True)
            undo.pop_all()
        return index

    def close(self) -> None:
        self._lexical.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        return self._identity.folder

    # ── searching ────────────────────────────────────────────────────────────────────────────────

    async def search(
        self, queries: Sequence[str], k: int, where: Filter | None = None, options: SearchOptions | None = None
    ) -> list[list[Passage]]:
        """One list a query, best first, at most k passages each, no near-duplicate of another in the list."""
        chosen = options or self._options
        asked = [query for query in queries if _WORD.search(query)]
        vectors = await self._embed(asked) if chosen.mode != "lexical" else None
        found = await asyncio.to_thread(self.find, asked, vectors, k, where, chosen)
        answers = iter(found)
        return [next(answers) if _WORD.search(query) else [] for query in queries]

    def find(
        self,
        queries: Sequence[str],
        vectors: Vectors | None,
        k: int,
        where: Filter | None = None,
        options: SearchOptions | None = None,
    ) -> list[list[Passage]]:
        """As `search`, with the queries' vectors given (None: lexical only); blocks."""
        if k < 1 or not queries:
            return [[] for _ in queries]
        self._refresh()
        if k > _MANY:  # tantivy sets aside room for as many as it is asked for
            k = max(min(k, int(self._store.one("SELECT count(*) FROM passages"))), 1)
        chosen = options or self._options
        allowed = self._store.allowed(where) if where else None
        return [
            self._find_one(query, None if vectors is None else vectors[place], k, (where, allowed), chosen)
            for place, query in enumerate(queries)
        ]

    def _find_one(
        self,
        query: str,
        vector: Vectors | None,
        k: int,
        within: tuple[Filter | None, NDArray[np.int64] | None],
        options: SearchOptions,
    ) -> list[Passage]:
        # The candidates are for the fusion; one index alone needs only some to spare for near-duplicates.
        depth = max(options.candidates, 2 * k) if options.mode == "hybrid" else k + 10
        while True:
            lexical = self._lexical.search(query, depth, within[1]) if options.mode != "dense" else []
            dense = self._nearest(vector, depth, within[1]) if options.mode != "lexical" else []
            ranked = join(lexical, dense, options.dense_weight, options.fusion)
            passages = self._best_of_clusters(ranked, k, within[0])
            if len(passages) >= k or max(len(lexical), len(dense)) < depth:
                return passages
            depth *= 4  # near-duplicates took the places: look deeper

    def _nearest(self, vector: Vectors | None, k: int, allowed: NDArray[np.int64] | None) -> Hits:
        if vector is None or self._dense is None or not self._number:
            return []
        number, dimensions = self._number, self._identity.dimensions
        return self._dense.search(vector, k, lambda rows: self._store.vectors_at(rows, number, dimensions), allowed)

    def _best_of_clusters(self, ranked: Hits, k: int, where: Filter | None) -> list[Passage]:
        """The first k that still exist in the store, one a cluster, each naming the copies left out for it."""
        chosen: dict[int, Hit] = {}
        for start in range(0, len(ranked), k):
            part = dict(ranked[start : start + k])
            found = self._store.hits_at(part)
            for row in part:
                if row in found and len(chosen) < k:
                    chosen.setdefault(found[row].head, found[row])
            if len(chosen) == k:
                break
        clusters = [head for head, hit in chosen.items() if not hit.alone]
        members = self._store.cluster_members(clusters, where) if clusters else {}
        return [_with_copies(hit.passage, members.get(head, [])) for head, hit in chosen.items()]

    async def _embed(self, queries: Sequence[str]) -> Vectors | None:
        if self._embedder is None or not queries:
            return None
        return await self._embedder.embed([storable(query) for query in queries])

    # ── following the store ──────────────────────────────────────────────────────────────────────

    def _refresh(self, *, opening: bool = False) -> None:
        """Moves to what is committed. What a dead writer left half done is finished; a live one is given a moment."""
        with self._refreshing, storage_faults(self.folder):
            version = self._store.data_version()
            if version == self._version:
                return
            self._number = self._store.embedder_number(self._identity.embedder)
            deadline = time.monotonic() + _PATIENCE_S
            while not self._follows(self._store.seq(), exactly=opening):
                hindrance = self._recover()
                if hindrance is None:
                    continue
                if time.monotonic() > deadline:
                    self._check_searchable(hindrance)
                    return
                time.sleep(0.01)
            self._version = version

    def _follows(self, seq: int, *, exactly: bool) -> bool:
        applied = [self._lexical.refresh()]
        if self._dense is not None and self._number:
            applied.append(self._dense.refresh())
        # A writer may have moved on since `seq` was read. At the opening, being ahead of the store may also mean
        # that an old copy of the store was put back.
        return all(own == seq or (own > seq and not exactly) for own in applied)

    def _recover(self) -> VeridicalError | None:
        """Brings the derived indexes up to date, or says what is in the way."""
        try:
            with self.writer(wait_s=0):
                return None
        except (IndexBusy, ConfigError, StorageFull) as error:
            return error

    def _check_searchable(self, hindrance: VeridicalError) -> None:
        if self._lexical.refresh() >= 0:
            return
        if not isinstance(hindrance, IndexBusy):
            raise hindrance
        raise IndexBusy(
            f"process {holder_of(self.folder)} is building the search index at {self.folder}",
            fix="try again in a moment",
        )

    # ── reading ──────────────────────────────────────────────────────────────────────────────────

    def document(self, document_id: str) -> Document | None:
        return self._store.document(document_id)

    def documents(self, where: Filter | None = None, limit: int = -1, offset: int = 0) -> list[Document]:
        """In order of URI; a negative limit means all."""
        return self._store.documents(where, limit, offset)

    def listed(self, where: Filter | None = None, limit: int = -1, offset: int = 0) -> list[Listed]:
        """Documents without their text, in order of URI; a negative limit means all."""
        return self._store.listed(where, limit, offset)

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """Those that exist, in the order asked."""
        return self._store.passages(ids)

    def source(self, uri: str) -> SourceRow | None:
        found = self._store.sources(uri)
        return found[0] if found else None

    def sources(self) -> list[SourceRow]:
        return self._store.sources()

    def document_hashes(self, source_uri: str, document_ids: Sequence[str]) -> dict[str, str]:
        """By id, for those that the source has, as `records.content_hash` computes them: what need not be put again."""
        return self._store.document_hashes(source_uri, document_ids)

    def tags(self, source_uri: str) -> tuple[str, ...]:
        """Every tag that a document of the source carries, in order."""
        return self._store.tags(source_uri)

    def known_vectors(self, passages: Sequence[Passage]) -> dict[str, NDArray[np.float32]]:
        """By passage id: vectors that the present embedder has already made for the same searchable text."""
        return self._store.known_vectors(passages, self._store.embedder_number(self._identity.embedder))

    def passages_without_vector(self, limit: int) -> list[tuple[int, Passage]]:
        """The next (row, passage) pairs that lack a vector of the present embedder; empty when all have one."""
        if not self.stale().passages_to_embed:  # counting is a hundred times cheaper than looking for them
            return []
        return self._store.passages_without_vector(self._store.embedder_number(self._identity.embedder), limit)

    def documents_with_other_chunker(self, limit: int) -> list[tuple[str, Document]]:
        """The next (source, document) pairs that were cut by another chunker than the present one."""
        return self._store.documents_with_other_chunker(self._identity.chunker, limit)

    def note(self, key: str) -> str:
        """What `Writer.set_note` stored under a key; empty when nothing was."""
        return self._store.meta(f"note:{key}")

    def stale(self) -> Stale:
        number = self._store.embedder_number(self._identity.embedder)
        stale = self._store.stale(number, self._identity.chunker)
        return stale if self._identity.embedder else replace(stale, passages_to_embed=0)

    def stats(self) -> Stats:
        folder = self._identity.folder
        parts = {"store": _size(folder.glob("veridical.db*"))}
        parts |= {part: _size((folder / part).rglob("*")) for part in ("lexical", "dense")}
        return Stats(
            **self._store.counts(),
            embedder=self._store.meta("embedder"),
            chunker=self._store.meta("chunker"),
            bytes_on_disk=parts,
        )

    def check(self) -> list[Problem]:
        """Everything that is wrong with the index and how to repair it; empty when it is sound. Reads all of it."""
        self._refresh()
        return check(self.folder, self._lexical, self._dense, self._number if self._identity.embedder else None)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────

    def writer(self, wait_s: float = 10.0) -> Writer:
        """The writer; entering it raises IndexBusy when another process still writes after `wait_s`."""
        return Writer(self._identity, wait_s)

    def rebuild(self, wait_s: float = 10.0) -> None:
        """Makes everything derived anew from the store; readers keep the old until the new is complete."""
        with self.writer(wait_s) as writer:
            writer.rebuild()


def _check_folder(folder: Path, *, create: bool) -> None:
    store = folder / "veridical.db"
    if store.exists() and store.stat().st_size:
        return
    if (folder / "lexical").exists() or (folder / "dense").exists():
        raise CorruptIndex(
            f"{store} is {'empty' if store.exists() else 'gone'}; without it the search files mean nothing",
            fix=f"restore it from a backup, or delete {folder} and add the documents again with `veridical add`",
        )
    if folder.exists() and not folder.is_dir():
        raise _no_folder(folder, f"{folder} is a file")
    if not create:
        raise IndexMissing(f"there is no index at {folder}", fix="make one with `veridical add PATH`")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise _no_folder(folder, str(error)) from error


def _no_folder(folder: Path, reason: str) -> ConfigError:
    return ConfigError(f"{folder} cannot be the folder of an index: {reason}", fix="name another folder for it")


def _identify(store: Store, embedder: Embedder | None, chunker: str) -> Identity:
    fingerprint = embedder.fingerprint if embedder else store.meta("embedder")
    dimensions = embedder.dimensions if embedder else 0
    if not embedder and fingerprint:
        dimensions = int(store.one("SELECT dimensions FROM embedders WHERE fingerprint = ?", (fingerprint,)))
    return Identity(store.folder, fingerprint, dimensions, chunker or store.meta("chunker"))


def _with_copies(passage: Passage, members: Sequence[str]) -> Passage:
    copies = tuple(id_ for id_ in members if id_ != passage.id)[:_MOST_COPIES]
    return replace(passage, also_in=copies) if copies else passage


def _size(files: Iterable[Path]) -> int:
    total = 0
    for file in files:
        try:
            total += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:  # merged away since it was listed
            continue
    return total
