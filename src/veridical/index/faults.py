"""Turns what SQLite, tantivy and the operating system raise into errors that say what to do next."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from veridical.errors import ConfigError, CorruptIndex, IndexBusy, StorageFull, VeridicalError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FULL_WORDS = ("No space left", "quota exceeded", "File too large")
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_NOT_WRITTEN = {  # of SQLite's many input and output errors, those that a disk without space can cause
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
}
_PRIMARY = 0xFF  # SQLite's extended codes keep the primary code in the low byte


@contextmanager
def storage_faults(folder: Path) -> Iterator[None]:
    """Raises StorageFull, CorruptIndex, IndexBusy or ConfigError in place of the library's own error."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        known = _from_sqlite(error, folder)
        if known is None:
            raise
        raise known from error
    except OSError as error:
        if error.errno in _FULL:
            raise storage_full(folder, error) from error
        if error.errno in _DENIED:
            raise denied(folder, error) from error
        raise
    except ValueError as error:  # tantivy-py raises nothing more precise
        if any(words in str(error) for words in _FULL_WORDS):
            raise storage_full(folder, error) from error
        raise


def storage_full(folder: Path, error: Exception) -> StorageFull:
    return StorageFull(
        f"the disk under {folder} took no more bytes ({error})",
        fix="free some space (or raise the quota) and run the same command again; it goes on where it stopped",
    )


def denied(folder: Path, error: Exception) -> ConfigError:
    return ConfigError(
        f"the index at {folder} cannot be read or written ({error})",
        fix="give this user permission to read and write the folder and all in it, or name another folder",
    )


def is_denied(error: sqlite3.Error) -> bool:
    """Whether SQLite was kept from a file by its permissions."""
    return _primary(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)


def corrupt(folder: Path, detail: str) -> CorruptIndex:
    return CorruptIndex(
        f"{folder / 'veridical.db'} cannot be read: {detail}",
        fix="restore the folder from a backup, or move it away and add the documents again with `veridical add`",
    )


def _from_sqlite(error: sqlite3.DatabaseError, folder: Path) -> VeridicalError | None:
    code = _primary(error)
    if code == sqlite3.SQLITE_FULL or getattr(error, "sqlite_errorcode", 0) in _NOT_WRITTEN:
        return storage_full(folder, error)
    if code == sqlite3.SQLITE_IOERR:
        return corrupt(folder, f"{error}; the disk may be failing")
    if is_denied(error):
        return denied(folder, error)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return corrupt(folder, str(error))
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexBusy(f"the index at {folder} is locked by another program", fix="try again when it has finished")
    return None


def _primary(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & _PRIMARY
