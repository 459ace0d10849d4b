"""The one writer: a change goes into the store in one transaction, then into both derived indexes.

The derived indexes are always fed from the store, by change number. So an addition, the replay after a crash,
a rebuild and a re-embedding are the same few lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from veridical.index import edits
from veridical.index.dense import Changes, Damaged, ScanWriter
from veridical.index.edits import Edit
from veridical.index.faults import storage_faults
from veridical.index.lexical import LexicalWriter
from veridical.index.lock import WriteLock
from veridical.index.neardup import Linker
from veridical.index.records import Entry, SourceRow
from veridical.index.schema import connect
from veridical.index.store import Store
from veridical.ports import Vectors


@dataclass(frozen=True, slots=True)
class Identity:
    """Where an index lies and what the vectors and passages in it are made with."""

    folder: Path
    embedder: str = ""  # fingerprint; empty when none is known, and there is then no vector search
    dimensions: int = 0
    chunker: str = ""

    @property
    def lexical(self) -> Path:
        return self.folder / "lexical"

    @property
    def dense(self) -> Path:
        # A folder an embedder: opening the index with the wrong one by mistake must not throw the right one away.
        return self.folder / "dense" / hashlib.blake2b(self.embedder.encode(), digest_size=6).hexdigest()


class Writer:
    """Use it as a context manager. Every method that changes something returns when that is durable and searchable."""

    def __init__(self, identity: Identity, wait_s: float) -> None:
        self._identity = identity
        self._lock = WriteLock(identity.folder, wait_s)
        self._seen: dict[str, set[str]] = {}
        self._lexical = LexicalWriter(identity.lexical)
        self._dense = ScanWriter(identity.dense, identity.dimensions) if identity.embedder else None
        self._applied: tuple[int, int] | None = None  # what lexical and dense follow; None: ask them

    def __enter__(self) -> Self:
        self._lock.acquire()
        try:
            self._store = Store(connect(self._identity.folder), self._identity.folder)
            self._linker = Linker(self._store.connection)
            self._catch_up()
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._lexical.close()
        finally:
            self._release()

    # ── changes ──────────────────────────────────────────────────────────────────────────────────

    def begin_source(self, uri: str) -> None:
        """From here on counts which documents of a source are still there; see `finish_source`."""
        self._seen[uri] = set()

    def keep(self, uri: str, document_ids: Sequence[str]) -> None:
        """Says that these documents of a begun source are there and unchanged."""
        self._seen[uri].update(document_ids)

    def put(self, entries: Sequence[Entry], finished: Sequence[SourceRow] = ()) -> None:
        """Adds or replaces documents, and completes sources, in one transaction.

        Batches of a few hundred passages are best: a call costs some 20 ms beside its contents. The entries may
        be of many sources. A source that is not finished in the same call is marked partial. Finishing a source
        deletes its documents that were neither put nor kept since `begin_source` (all stay if it was not begun).
        """
        if not entries and not finished:
            return
        for entry in entries:
            self._check(entry)
        with self._edit() as edit:
            edits.mark_partial(edit, list(dict.fromkeys(entry.source for entry in entries)))
            for entry in entries:
                edits.put_entry(edit, entry)
                if entry.source in self._seen:
                    self._seen[entry.source].add(entry.document.id)
            for row in finished:
                edits.finish_source(edit, row, self._seen.get(row.uri))
        for row in finished:
            self._seen.pop(row.uri, None)

    def finish_source(self, row: SourceRow) -> None:
        self.put((), finished=(row,))

    def delete_sources(self, uris: Sequence[str]) -> int:
        """How many of them there were; their documents go with them."""
        with self._edit() as edit:
            return edits.remove_sources(edit, uris)

    def delete_documents(self, document_ids: Sequence[str]) -> int:
        """How many of them there were. Their sources are now partial: adding one again brings its document back."""
        wanted = list(dict.fromkeys(document_ids))
        found = list(self._store.rows_in("SELECT key, source FROM documents WHERE id IN ({})", wanted))
        with self._edit() as edit:
            edits.remove_documents(edit, [key for key, _ in found])
            edits.mark_partial(edit, list(dict.fromkeys(source for _, source in found)))
        return len(found)

    def set_tags(self, source_uri: str, tags: Sequence[str]) -> None:
        """Gives all documents of a source these tags, in place of those they had."""
        wanted = tuple(dict.fromkeys(tags))
        ids = [id_ for (id_,) in self._store.rows("SELECT id FROM documents WHERE source = ?", (source_uri,))]
        with self._transaction():
            for id_ in ids:
                document = self._store.document(id_)
                if document is not None and document.tags != wanted:
                    edits.set_tags(self._store.connection, document, wanted)

    def put_vectors(self, rows: Sequence[int], vectors: Vectors) -> None:
        """Gives passages, by row as `Index.passages_without_vector` names them, a vector of the present embedder."""
        found = self._store.passages_at(rows)
        present = [place for place, row in enumerate(rows) if row in found]
        with self._edit() as edit:
            passages = [found[rows[place]] for place in present]
            edits.put_vectors(edit, [rows[place] for place in present], passages, vectors[present])

    def set_note(self, key: str, value: str) -> None:
        """Keeps a word of the caller's own beside the documents; see `Index.note`."""
        with self._transaction():
            edits.set_meta(self._store.connection, f"note:{key}", value)

    def rebuild(self) -> None:
        """Makes both derived indexes and the near-duplicate bands anew from the store."""
        with self._edit() as edit:
            edit.connection.execute("DELETE FROM bands")
            edit.connection.execute("UPDATE passages SET cluster = NULL")
            self._link_all()
        self._build()
        with self._transaction():
            self._store.connection.execute("DELETE FROM tombstones")
            edits.set_meta(self._store.connection, "pruned_seq", str(self._store.seq()))

    # ── how ──────────────────────────────────────────────────────────────────────────────────────

    def _check(self, entry: Entry) -> None:
        if entry.vectors is None:
            return
        expected = (len(entry.passages), self._identity.dimensions)
        if entry.passages and entry.vectors.shape != expected:
            raise ValueError(f"{entry.document.id}: vectors of shape {entry.vectors.shape}, expected {expected}")

    def _link_all(self) -> None:
        connection = self._store.connection
        for (row,) in connection.execute("SELECT row FROM passages ORDER BY row").fetchall():
            (text,) = connection.execute("SELECT text FROM passages WHERE row = ?", (row,)).fetchone()
            its = self._linker.print_of(text)
            head = self._linker.head_for(text, its)
            if head is None:
                self._linker.add_head(row, its)
            else:
                connection.execute("UPDATE passages SET cluster = ? WHERE row = ?", (head, row))

    @contextmanager
    def _edit(self) -> Iterator[Edit]:
        connection, identity = self._store.connection, self._identity
        with self._transaction():
            number = 0
            if identity.embedder:
                number = edits.embedder_number(connection, identity.embedder, identity.dimensions)
                edits.set_meta(connection, "embedder", identity.embedder)
            edits.set_meta(connection, "chunker", identity.chunker)
            yield Edit(connection, self._linker, edits.next_seq(connection), number, identity.chunker)
        self._catch_up()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        connection = self._store.connection
        with storage_faults(self._identity.folder):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _catch_up(self) -> None:
        """Brings both derived indexes to the store's last change, from wherever they are."""
        seq, pruned = self._store.seq(), int(self._store.meta("pruned_seq"))
        known, self._applied = self._applied, None
        lexical, dense = known or (self._lexical.applied(), self._dense.applied() if self._dense else seq)
        if not pruned <= lexical <= seq:
            self._lexical.rebuild(self._store.passages_since(0), seq)
        elif lexical < seq:
            removed = self._store.removed_since(lexical)
            self._lexical.apply(removed, self._store.passages_since(lexical), seq, again=known is None)
        if self._dense and not pruned <= dense <= seq:
            self._dense.rebuild(self._vectors(0, []), seq)
        elif self._dense and dense < seq:
            gone = self._store.removed_since(dense)
            changes = list(self._vectors(dense, gone))
            try:
                self._dense.apply(np.asarray(gone, np.int64), changes, seq)
            except Damaged:
                self._dense.rebuild(self._vectors(0, []), seq)
        self._applied = (seq, seq)

    def _build(self) -> None:
        seq = self._store.seq()
        self._lexical.rebuild(self._store.passages_since(0), seq)
        if self._dense:
            self._dense.rebuild(self._vectors(0, []), seq)

    def _vectors(self, since: int, gone: list[int]) -> Changes:
        """The vectors of the present embedder; rows that now have another's are added to `gone`."""
        number = self._store.embedder_number(self._identity.embedder)
        for rows in self._store.vectors_since(since):
            ours = [row for row in rows if row[2] == number]
            gone += [row[0] for row in rows if row[2] != number]
            if ours:
                halves = np.frombuffer(b"".join([row[3] for row in ours]), np.float16)
                vectors = halves.reshape(len(ours), self._identity.dimensions).astype(np.float32)
                yield _column(ours, 0), _column(ours, 1), vectors

    def _release(self) -> None:
        if hasattr(self, "_store"):
            self._store.close()
        self._lock.release()


def _column(rows: Sequence[tuple[int, int, int, bytes]], place: int) -> NDArray[np.int64]:
    return np.fromiter((row[place] for row in rows), np.int64, len(rows))
