"""Files that are written beside their place and take it when they are whole."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from veridical.errors import ConfigError, VeridicalError

SUFFIX = ".partial"


@contextmanager
def replacing(file: Path, keep: Callable[[str], None] | None = None) -> Iterator[IO[str]]:
    """A stream whose content becomes the file's when the block ends well; else the file stays as it was.

    With `keep`, what was written before a failure stays in `FILE.partial`: an error of ours says so, for any other
    `keep` is told. Devices and pipes are written to as they are. Raises ConfigError when nothing can be written.
    """
    if file.exists() and not file.is_file():
        with _open(file, file) as stream:
            yield stream
        return
    place = file.resolve()
    partial = place.with_name(place.name + SUFFIX)
    stream = _open(partial, file)
    try:
        with stream:
            yield stream
        if place.exists():
            shutil.copymode(place, partial)
        partial.replace(place)
    except BaseException as error:
        if keep is None or not partial.stat().st_size:
            partial.unlink()
            raise
        beside = partial if file.is_symlink() else file.with_name(partial.name)
        kept = f"what was done before is in {beside}"
        if isinstance(error, VeridicalError):
            raise type(error)(f"{error.message}; {kept}", fix=error.fix) from error
        keep(kept)
        raise


def _open(path: Path, named: Path) -> IO[str]:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{named} cannot be written: {error.strerror}", fix="name a file you may write") from None
