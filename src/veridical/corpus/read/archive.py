"""The guard in front of every format that is a zip file: a bomb is refused before anything is unpacked."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from veridical.errors import InputRefused

_MOST_BYTES = 500 * 1024 * 1024
_MOST_RATIO = 200
_MOST_ENTRIES = 20_000
_SMALL_BYTES = 1024 * 1024  # below this a high ratio is only a very repetitive file


def open_archive(content: bytes) -> zipfile.ZipFile:
    """The archive, once its directory promises sane sizes (zipfile never unpacks more than is promised).

    Raises InputRefused for a broken archive, an encrypted one or a bomb.
    """
    if content.startswith(b"\xd0\xcf\x11\xe0"):  # OLE2: how Office wraps a file that has a password
        raise InputRefused("is encrypted", fix="Open it with its password, save it without one and add that file.")
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise InputRefused(
            f"is damaged or not what its name says: {error}", fix="Open and save it again, or fetch a fresh copy."
        ) from error
    entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    packed = max(sum(entry.compress_size for entry in entries), 1)
    if (
        unpacked > _MOST_BYTES
        or len(entries) > _MOST_ENTRIES
        or (unpacked > _SMALL_BYTES and unpacked / packed > _MOST_RATIO)
    ):
        raise InputRefused(
            f"would unpack to {unpacked / 1e6:,.0f} MB from {packed / 1e6:,.1f} MB: it looks like a zip bomb",
            fix="Leave the file out; if you trust it, save its text in another format.",
        )
    if any(entry.flag_bits & 1 for entry in entries):
        raise InputRefused("is encrypted", fix="Save it without a password and add that file.")
    return archive


@contextmanager
def refusing_damage(kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Turns what zip, XML and the format's library (`errors`) raise on a damaged file into InputRefused."""
    damage: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, EOFError, SyntaxError, LookupError)
    mistaken = (ValueError, TypeError, AttributeError, NotImplementedError)  # libraries that trusted the file
    try:
        yield
    except damage + mistaken + errors as error:
        raise InputRefused(
            f"is a damaged {kind} file: {error}", fix="Open and save it again in its program, or fetch a fresh copy."
        ) from error
