"""The tables of the store, their format version, and how a connection is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from veridical.errors import CorruptIndex
from veridical.index.faults import corrupt, is_denied, storage_faults

FORMAT = 1
_APPLICATION_ID = 0x56455249  # "VERI": tells our files from other people's SQLite files

# Rowids are AUTOINCREMENT so that a deleted passage's number never comes back: the derived indexes may still name it.
_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources(
  uri TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, size INTEGER NOT NULL, modified REAL NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('complete', 'partial')), added_at TEXT NOT NULL, warnings TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE documents(
  key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL REFERENCES sources(uri),
  uri TEXT NOT NULL, title TEXT NOT NULL, media_type TEXT NOT NULL, suffix TEXT NOT NULL, date TEXT,
  offset INTEGER NOT NULL, pages TEXT NOT NULL, headings TEXT NOT NULL, content_hash TEXT NOT NULL,
  chunker TEXT NOT NULL, seq INTEGER NOT NULL
);
CREATE INDEX documents_source ON documents(source);
CREATE INDEX documents_chunker ON documents(chunker);
CREATE TABLE texts(
  document INTEGER PRIMARY KEY REFERENCES documents(key) ON DELETE CASCADE, packed BLOB NOT NULL
);
CREATE TABLE document_tags(
  document INTEGER NOT NULL REFERENCES documents(key) ON DELETE CASCADE, tag TEXT NOT NULL, ordinal INTEGER NOT NULL,
  PRIMARY KEY (document, tag)
) WITHOUT ROWID;
CREATE TABLE passages(
  row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  document INTEGER NOT NULL REFERENCES documents(key) ON DELETE CASCADE, ordinal INTEGER NOT NULL,
  start INTEGER NOT NULL, end INTEGER NOT NULL, page INTEGER, heading TEXT NOT NULL, text TEXT NOT NULL,
  cluster INTEGER, seq INTEGER NOT NULL
);
CREATE UNIQUE INDEX passages_document ON passages(document, ordinal);
CREATE INDEX passages_cluster ON passages(cluster) WHERE cluster IS NOT NULL;
CREATE INDEX passages_seq ON passages(seq);
CREATE TABLE embedders(
  number INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL
);
CREATE TABLE vectors(
  row INTEGER PRIMARY KEY REFERENCES passages(row) ON DELETE CASCADE,
  embedder INTEGER NOT NULL REFERENCES embedders(number), text_key INTEGER NOT NULL, seq INTEGER NOT NULL,
  half BLOB NOT NULL
);
CREATE INDEX vectors_text_key ON vectors(text_key);
CREATE INDEX vectors_seq ON vectors(seq);
CREATE TABLE bands(band INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (band, row)) WITHOUT ROWID;
CREATE TABLE tombstones(seq INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (seq, row)) WITHOUT ROWID;
INSERT INTO meta VALUES ('seq', '0'), ('pruned_seq', '0');
"""


def connect(folder: Path, *, create: bool = False) -> sqlite3.Connection:
    """A connection in autocommit, its format checked; one that can only read where nothing may be written.

    Raises CorruptIndex when the file is not one of ours, ConfigError when it may not be read.
    """
    with storage_faults(folder):
        try:
            return _open(folder, "mode=rwc" if create else "mode=rw", create=create)
        except sqlite3.OperationalError as error:
            log = folder / "veridical.db-wal"
            if not is_denied(error) or (log.exists() and log.stat().st_size):
                raise
        # SQLite wants to write beside a file with a log even to read it. Without a log the file is all there is.
        return _open(folder, "mode=ro&immutable=1", create=False)


def _open(folder: Path, how: str, *, create: bool) -> sqlite3.Connection:
    address = f"{(folder / 'veridical.db').absolute().as_uri()}?{how}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        _prepare(connection, folder, create=create)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, folder: Path, *, create: bool) -> None:
    version = _format_of(connection)
    empty = version == 0 and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if empty and create:
        connection.execute("PRAGMA journal_mode=WAL")
        create_tables(connection)
    elif empty:
        raise corrupt(folder, "the file is empty")
    elif connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        raise corrupt(folder, "it is not a veridical index")
    else:
        _check_format(version, folder)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA cache_size=-32000")
    # Random pages are rewritten from batch to batch: checkpointing less often writes each of them once.
    connection.execute("PRAGMA wal_autocheckpoint=4000")
    connection.execute("PRAGMA temp_store=MEMORY")


def create_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN EXCLUSIVE")
    if _format_of(connection) == 0:  # another process may have been first
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={FORMAT}")
    connection.execute("COMMIT")


def _format_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_format(version: int, folder: Path) -> None:
    if version > FORMAT:
        raise CorruptIndex(
            f"the index at {folder} was made by a newer veridical (format {version}, this one reads {FORMAT})",
            fix="upgrade: pip install --upgrade veridical",
        )
    if version < FORMAT:
        raise CorruptIndex(
            f"the index at {folder} has format {version}, which this veridical no longer reads (it reads {FORMAT})",
            fix="move the folder away and add the documents again with `veridical add`",
        )
