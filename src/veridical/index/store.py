"""Reading the store: documents, passages, vectors, sources and the change sequence."""

from __future__ import annotations

import json
import sqlite3
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.index.faults import storage_faults
from veridical.index.filters import condition
from veridical.index.records import PARTIAL, Listed, SourceRow, Stale, text_key
from veridical.ports import Vectors
from veridical.text.passages import searchable_text
from veridical.types import Document, Filter, Heading, Passage, Span

_PASSAGE_COLUMNS = "p.row, p.id, d.id, p.text, p.start, p.end, d.title, d.uri, p.heading, p.page"
_PASSAGE_TABLES = "FROM passages AS p JOIN documents AS d ON d.key = p.document"
_PASSAGE = f"SELECT {_PASSAGE_COLUMNS} {_PASSAGE_TABLES}"
_DOCUMENT = (
    "SELECT d.key, d.id, d.uri, d.title, x.packed, d.media_type, d.pages, d.headings, d.date, d.offset"
    " FROM documents AS d JOIN texts AS x ON x.document = d.key"
)
_MEMBER = f"SELECT coalesce(p.cluster, p.row), p.row, p.id {_PASSAGE_TABLES}"
_IS_LEADER = "EXISTS (SELECT 1 FROM passages AS m WHERE m.cluster = p.row)"
_HIT = f"SELECT {_PASSAGE_COLUMNS}, p.cluster, {_IS_LEADER} {_PASSAGE_TABLES} WHERE p.row IN ({{}})"
_LISTED = (
    "SELECT d.id, d.uri, d.title, d.media_type, d.date,"
    " (SELECT json_group_array(t.tag) FROM document_tags AS t WHERE t.document = d.key),"
    " (SELECT count(*) FROM passages AS p WHERE p.document = d.key) FROM documents AS d"
)
_AT_ONCE = 500  # bound parameters a statement; SQLite builds differ in how many they take


class Hit(NamedTuple):
    """A passage that a search found. `head` names its cluster of near-duplicates; most passages are alone in theirs."""

    passage: Passage
    head: int
    alone: bool


class Store:
    """One connection to the only truth, usable from any thread: its statements take turns."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self.connection = connection
        self.folder = folder
        self._turn = threading.Lock()

    def close(self) -> None:
        with self._turn:
            self.connection.close()

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        with self._turn, storage_faults(self.folder):
            return self.connection.execute(statement, values).fetchall()

    def rows_in(self, statement: str, wanted: Sequence[Any], values: Sequence[object] = ()) -> Iterator[Any]:
        """The rows of a statement whose `{}` stands for the marks of the wanted values, which come first."""
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            yield from self.rows(statement.format(",".join("?" * len(part))), (*part, *values))

    def one(self, statement: str, values: Sequence[object] = ()) -> Any:
        found = self.rows(statement, values)
        return found[0][0] if found else None

    # ── what changed ─────────────────────────────────────────────────────────────────────────────

    def data_version(self) -> int:
        """Changes whenever another connection, of any process, has committed."""
        return int(self.one("PRAGMA data_version"))

    def meta(self, key: str) -> str:
        return str(self.one("SELECT value FROM meta WHERE key = ?", (key,)) or "")

    def seq(self) -> int:
        return int(self.meta("seq"))

    def removed_since(self, seq: int) -> list[int]:
        return [row for (row,) in self.rows("SELECT row FROM tombstones WHERE seq > ?", (seq,))]

    def passages_since(self, seq: int) -> Iterator[list[tuple[int, int, str, str, str]]]:
        """(row, document key, title, heading path as JSON, text) in change order, a few thousand at a time."""
        return self._in_turns(
            "SELECT p.row, p.document, d.title, p.heading, p.text FROM passages AS p"
            " JOIN documents AS d ON d.key = p.document WHERE p.seq > ? ORDER BY p.seq, p.row",
            seq,
        )

    def vectors_since(self, seq: int) -> Iterator[list[tuple[int, int, int, bytes]]]:
        """(row, document key, embedder number, float16 bytes) in change order, a few thousand at a time."""
        return self._in_turns(
            "SELECT v.row, p.document, v.embedder, v.half FROM vectors AS v JOIN passages AS p ON p.row = v.row"
            " WHERE v.seq > ? ORDER BY v.seq, v.row",
            seq,
        )

    def _in_turns(self, statement: str, seq: int) -> Iterator[list[Any]]:
        with storage_faults(self.folder):
            cursor = self.connection.execute(statement, (seq,))
        while True:
            with storage_faults(self.folder):
                rows = cursor.fetchmany(4000)
            if not rows:
                return
            yield rows

    # ── documents and passages ───────────────────────────────────────────────────────────────────

    def document(self, document_id: str) -> Document | None:
        found = self.rows(f"{_DOCUMENT} WHERE d.id = ?", (document_id,))
        return self._document(found[0]) if found else None

    def documents(self, where: Filter | None, limit: int, offset: int) -> list[Document]:
        """In order of URI and offset, with their text."""
        sql, values = condition(where or Filter())
        order = "ORDER BY d.uri, d.offset, d.key LIMIT ? OFFSET ?"
        return [self._document(row) for row in self.rows(f"{_DOCUMENT} WHERE {sql} {order}", (*values, limit, offset))]

    def listed(self, where: Filter | None, limit: int, offset: int) -> list[Listed]:
        """In order of URI and offset; a negative limit means all."""
        sql, values = condition(where or Filter())
        order = "ORDER BY d.uri, d.offset, d.key LIMIT ? OFFSET ?"
        found = self.rows(f"{_LISTED} WHERE {sql} {order}", (*values, limit, offset))
        return [
            Listed(id_, uri, title, kind, date.fromisoformat(day) if day else None, tuple(json.loads(tags)), passages)
            for id_, uri, title, kind, day, tags, passages in found
        ]

    def documents_with_other_chunker(self, chunker: str, limit: int) -> list[tuple[str, Document]]:
        found = self.rows(f"{_DOCUMENT} WHERE d.chunker < ? OR d.chunker > ? LIMIT ?", (chunker, chunker, limit))
        source = "SELECT source FROM documents WHERE key = ?"
        return [(self.one(source, (row[0],)), self._document(row)) for row in found]

    def _document(self, row: Sequence[Any]) -> Document:
        key, id_, uri, title, packed, media_type, pages, headings, day, offset = row
        tags = self.rows("SELECT tag FROM document_tags WHERE document = ? ORDER BY ordinal", (key,))
        return Document(
            id=id_,
            uri=uri,
            title=title,
            text=zlib.decompress(packed).decode("utf-8"),
            media_type=media_type,
            pages=tuple(json.loads(pages)),
            headings=tuple(Heading(start, tuple(path)) for start, path in json.loads(headings)),
            date=date.fromisoformat(day) if day else None,
            tags=tuple(tag for (tag,) in tags),
            offset=offset,
        )

    def document_hashes(self, source_uri: str, document_ids: Sequence[str]) -> dict[str, str]:
        statement = "SELECT id, content_hash FROM documents WHERE id IN ({}) AND source = ?"
        return dict(self.rows_in(statement, document_ids, (source_uri,)))

    def tags(self, source_uri: str) -> tuple[str, ...]:
        found = self.rows(
            "SELECT t.tag FROM document_tags AS t JOIN documents AS d ON d.key = t.document WHERE d.source = ?"
            " GROUP BY t.tag ORDER BY min(t.ordinal), min(d.key)",
            (source_uri,),
        )
        return tuple(tag for (tag,) in found)

    def allowed(self, where: Filter) -> NDArray[np.int64]:
        """The keys of the documents that a filter lets through, in order."""
        sql, values = condition(where)
        found = self.rows(f"SELECT d.key FROM documents AS d WHERE {sql} ORDER BY d.key", values)  # noqa: S608
        return np.fromiter((key for (key,) in found), np.int64, len(found))

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        found = {row[1]: _passage(row) for row in self.rows_in(f"{_PASSAGE} WHERE p.id IN ({{}})", ids)}
        return [found[id_] for id_ in ids if id_ in found]

    def passages_at(self, rows: Sequence[int]) -> dict[int, Passage]:
        return {row[0]: _passage(row) for row in self.rows_in(f"{_PASSAGE} WHERE p.row IN ({{}})", rows)}

    def hits_at(self, scores: Mapping[int, float]) -> dict[int, Hit]:
        """By row, for those that still exist: the passage with its score, and its cluster."""
        found = {}
        for *columns, cluster, leads in self.rows_in(_HIT, list(scores)):
            row = columns[0]
            head = row if cluster is None else cluster
            found[row] = Hit(_passage(columns, scores[row]), head, alone=cluster is None and not leads)
        return found

    def cluster_members(self, heads: Sequence[int], where: Filter | None) -> dict[int, list[str]]:
        """By head: the ids of all passages of its cluster that the filter lets through; lone passages are left out."""
        sql, values = condition(where or Filter())
        members: dict[int, list[str]] = {}
        followers = f"{_MEMBER} WHERE p.cluster IN ({{}}) AND {sql}"
        leaders = f"{_MEMBER} WHERE p.row IN ({{}}) AND {sql} AND {_IS_LEADER}"
        for statement in (leaders, followers):
            for head, _, id_ in sorted(self.rows_in(statement, heads, values)):
                members.setdefault(head, []).append(id_)
        return members

    # ── sources ──────────────────────────────────────────────────────────────────────────────────

    def sources(self, uri: str | None = None) -> list[SourceRow]:
        columns = "uri, fingerprint, size, modified, status, added_at, warnings"
        one = "WHERE uri = ?" if uri is not None else ""
        found = self.rows(f"SELECT {columns} FROM sources {one} ORDER BY uri", () if uri is None else (uri,))  # noqa: S608
        return [_source(*row) for row in found]

    # ── vectors ──────────────────────────────────────────────────────────────────────────────────

    def embedder_number(self, fingerprint: str) -> int:
        """Zero when no vector of that embedder was ever stored."""
        return int(self.one("SELECT number FROM embedders WHERE fingerprint = ?", (fingerprint,)) or 0)

    def vectors_at(self, rows: Sequence[int], embedder: int, dimensions: int) -> Vectors:
        """One row each, in the order asked; NaN where there is no vector of that embedder."""
        found = dict(
            self.rows_in("SELECT row, half FROM vectors WHERE row IN ({}) AND embedder = ?", rows, (embedder,))
        )
        missing = np.full(dimensions, np.nan, np.float16).tobytes()
        packed = b"".join([found.get(row, missing) for row in rows])
        return np.frombuffer(packed, np.float16).reshape(len(rows), dimensions).astype(np.float32)

    def known_vectors(self, passages: Sequence[Passage], embedder: int) -> dict[str, NDArray[np.float32]]:
        keys = {passage.id: text_key(searchable_text(passage)) for passage in passages}
        statement = "SELECT text_key, half FROM vectors WHERE text_key IN ({}) AND embedder = ?"
        found = dict(self.rows_in(statement, list(set(keys.values())), (embedder,)))
        return {
            id_: np.frombuffer(found[key], np.float16).astype(np.float32) for id_, key in keys.items() if key in found
        }

    def passages_without_vector(self, embedder: int, limit: int) -> list[tuple[int, Passage]]:
        found = self.rows(
            f"{_PASSAGE} LEFT JOIN vectors AS v ON v.row = p.row"
            " WHERE v.row IS NULL OR v.embedder != ? ORDER BY p.row LIMIT ?",
            (embedder, limit),
        )
        return [(row[0], _passage(row)) for row in found]

    def stale(self, embedder: int, chunker: str | None) -> Stale:
        passages = self.one("SELECT count(*) FROM passages")
        # Counting all is instant, counting some reads every vector: so only when there ever was another embedder.
        alone = not self.one("SELECT count(*) FROM embedders WHERE number != ?", (embedder,))
        ours = "SELECT count(*) FROM vectors WHERE embedder = ?"
        vectors = self.one("SELECT count(*) FROM vectors") if alone else self.one(ours, (embedder,))
        # "Unequal" put so that the index on chunkers serves it.
        unequal = "SELECT count(*) FROM documents WHERE chunker < ? OR chunker > ?"
        other = self.one(unequal, (chunker, chunker)) if chunker else 0
        return Stale(passages - vectors, other)

    def counts(self) -> dict[str, int]:
        tables = ("sources", "documents", "passages", "vectors")
        counts = {table: self.one(f"SELECT count(*) FROM {table}") for table in tables}  # noqa: S608
        counts["duplicates"] = self.one("SELECT count(*) FROM passages WHERE cluster IS NOT NULL")
        counts["partial_sources"] = self.one("SELECT count(*) FROM sources WHERE status = ?", (PARTIAL,))
        return counts


def _passage(row: Sequence[Any], score: float = 0.0) -> Passage:
    _, id_, document_id, text, start, end, title, uri, heading, page = row
    path = () if heading == "[]" else tuple(json.loads(heading))
    return Passage(id_, document_id, text, Span(start, end), title, uri, path, page, score)


def _source(uri: str, fingerprint: str, size: int, modified: float, *rest: str) -> SourceRow:
    status, added_at, warnings = rest
    return SourceRow(uri, fingerprint, size, modified, status, added_at, tuple(json.loads(warnings)))
