"""Changing the store: every function runs inside the caller's transaction and stamps what it changes with `seq`."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from veridical.errors import InputRefused
from veridical.index.neardup import Linker
from veridical.index.records import (
    COMPLETE,
    PARTIAL,
    Entry,
    SourceRow,
    content_hash,
    storable,
    text_key,
)
from veridical.ports import Vectors
from veridical.text.passages import searchable_text
from veridical.text.paths import suffix_of
from veridical.types import Document, Passage

_PACKING = 1  # zlib's fastest level: a third of the time of the default for a tenth more bytes


@dataclass(frozen=True, slots=True)
class Edit:
    """An open transaction: where to write, under which number, made by which embedder and chunker."""

    connection: sqlite3.Connection
    linker: Linker
    seq: int
    embedder: int
    chunker: str


def next_seq(connection: sqlite3.Connection) -> int:
    connection.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'seq'")
    return int(connection.execute("SELECT value FROM meta WHERE key = 'seq'").fetchone()[0])


def set_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    connection.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value)
    )


def embedder_number(connection: sqlite3.Connection, fingerprint: str, dimensions: int) -> int:
    connection.execute(
        "INSERT INTO embedders (fingerprint, dimensions) VALUES (?, ?) ON CONFLICT (fingerprint) DO NOTHING",
        (fingerprint, dimensions),
    )
    found = connection.execute("SELECT number FROM embedders WHERE fingerprint = ?", (fingerprint,)).fetchone()
    return int(found[0])


def put_entry(edit: Edit, entry: Entry) -> None:
    """Replaces the document of the same id, if there is one."""
    document = entry.document
    old = edit.connection.execute("SELECT key FROM documents WHERE id = ?", (document.id,)).fetchall()
    remove_documents(edit, [key for (key,) in old])
    key = _insert_document(edit, entry.source, document)
    rows = [_insert_passage(edit, key, ordinal, passage) for ordinal, passage in enumerate(entry.passages)]
    if entry.vectors is not None and rows:
        put_vectors(edit, rows, entry.passages, entry.vectors)


def _insert_document(edit: Edit, source: str, document: Document) -> int:
    key = edit.connection.execute(
        "INSERT INTO documents (id, source, uri, title, media_type, suffix, date, offset, pages, headings,"
        " content_hash, chunker, seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            document.id,
            source,
            document.uri,
            storable(document.title),
            document.media_type,
            suffix_of(source),
            document.date.isoformat() if document.date else None,
            document.offset,
            json.dumps(document.pages),
            json.dumps([(heading.start, heading.path) for heading in document.headings]),
            content_hash(document),
            edit.chunker,
            edit.seq,
        ),
    ).lastrowid
    assert key is not None
    packed = zlib.compress(storable(document.text).encode("utf-8"), _PACKING)
    edit.connection.execute("INSERT INTO texts VALUES (?, ?)", (key, packed))
    _insert_tags(edit.connection, key, document.tags)
    return key


def _insert_passage(edit: Edit, document: int, ordinal: int, passage: Passage) -> int:
    text = storable(passage.text)
    its = edit.linker.print_of(text)
    head = edit.linker.head_for(text, its)
    try:
        row = edit.connection.execute(
            "INSERT INTO passages (id, document, ordinal, start, end, page, heading, text, cluster, seq)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                passage.id,
                document,
                ordinal,
                *passage.span,
                passage.page,
                json.dumps(passage.heading, ensure_ascii=False),
                text,
                head,
                edit.seq,
            ),
        ).lastrowid
    except sqlite3.IntegrityError as error:
        raise InputRefused(
            f"passage id {passage.id!r} is already used by another document", fix="give every passage an id of its own"
        ) from error
    assert row is not None
    if head is None:
        edit.linker.add_head(row, its)
    return row


def put_vectors(edit: Edit, rows: Sequence[int], passages: Sequence[Passage], vectors: Vectors) -> None:
    """Stores one vector a row, in place of what it had."""
    if len(rows) != len(vectors):
        raise ValueError(f"{len(rows)} passages but {len(vectors)} vectors")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector holds a value that is not a number")
    halves = np.ascontiguousarray(vectors, np.float16)
    edit.connection.executemany(
        "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)",
        [
            (row, edit.embedder, text_key(searchable_text(passage)), edit.seq, half.tobytes())
            for row, passage, half in zip(rows, passages, halves, strict=True)
        ],
    )


def remove_documents(edit: Edit, keys: Sequence[int]) -> None:
    """Deletes documents and leaves a tombstone for each of their passages."""
    rows: list[int] = []
    for key in keys:
        rows += [row for (row,) in edit.connection.execute("SELECT row FROM passages WHERE document = ?", (key,))]
    edit.linker.forget(rows)
    edit.connection.executemany("INSERT INTO tombstones VALUES (?, ?)", [(edit.seq, row) for row in rows])
    edit.connection.executemany("DELETE FROM documents WHERE key = ?", [(key,) for key in keys])


def mark_partial(edit: Edit, uris: Sequence[str]) -> None:
    """Notes that these sources are being added; what is known of a finished one no longer holds."""
    edit.connection.executemany(
        "INSERT INTO sources VALUES (?, '', 0, 0, ?, ?, '[]')"
        " ON CONFLICT (uri) DO UPDATE SET status = excluded.status, fingerprint = ''",
        [(uri, PARTIAL, _now()) for uri in uris],
    )


def set_tags(connection: sqlite3.Connection, document: Document, tags: Sequence[str]) -> None:
    """Gives a stored document these tags in place of its own."""
    (key,) = connection.execute("SELECT key FROM documents WHERE id = ?", (document.id,)).fetchone()
    tagged = content_hash(replace(document, tags=tuple(tags)))
    connection.execute("UPDATE documents SET content_hash = ? WHERE key = ?", (tagged, key))
    connection.execute("DELETE FROM document_tags WHERE document = ?", (key,))
    _insert_tags(connection, key, tags)


def _insert_tags(connection: sqlite3.Connection, key: int, tags: Sequence[str]) -> None:
    rows = [(key, tag, ordinal) for ordinal, tag in enumerate(dict.fromkeys(tags))]
    connection.executemany("INSERT INTO document_tags VALUES (?, ?, ?)", rows)


def finish_source(edit: Edit, row: SourceRow, seen: set[str] | None) -> int:
    """Records a source as complete; documents of it that were not seen are deleted (None: all are kept)."""
    found = edit.connection.execute("SELECT key, id FROM documents WHERE source = ?", (row.uri,)).fetchall()
    gone = [key for key, id_ in found if seen is not None and id_ not in seen]
    remove_documents(edit, gone)
    edit.connection.execute(
        "INSERT INTO sources VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uri) DO UPDATE SET fingerprint ="
        " excluded.fingerprint, size = excluded.size, modified = excluded.modified, status = excluded.status,"
        " added_at = excluded.added_at, warnings = excluded.warnings",
        (
            row.uri,
            row.fingerprint,
            row.size,
            row.modified,
            COMPLETE,
            row.added_at or _now(),
            json.dumps(row.warnings),
        ),
    )
    return len(gone)


def remove_sources(edit: Edit, uris: Sequence[str]) -> int:
    removed = 0
    for uri in uris:
        keys = [key for (key,) in edit.connection.execute("SELECT key FROM documents WHERE source = ?", (uri,))]
        remove_documents(edit, keys)
        removed += edit.connection.execute("DELETE FROM sources WHERE uri = ?", (uri,)).rowcount
    return removed


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
