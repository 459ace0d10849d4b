"""The lock that makes one process at a time the writer."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock, Timeout

from veridical.errors import IndexBusy
from veridical.index.faults import storage_faults


class WriteLock:
    def __init__(self, folder: Path, wait_s: float) -> None:
        self._folder = folder
        self._wait_s = wait_s
        self._lock = FileLock(folder / "write.lock", thread_local=False)

    def acquire(self) -> None:
        """Raises IndexBusy when another holds it still after `wait_s`, ConfigError where nothing may be written."""
        try:
            with storage_faults(self._folder):
                self._lock.acquire(timeout=max(self._wait_s, 0))
        except Timeout as error:
            raise IndexBusy(
                f"process {holder_of(self._folder)} is writing to the index at {self._folder}",
                fix="wait for it to finish, or stop it, and run the command again",
            ) from error
        try:
            with storage_faults(self._folder):
                (self._folder / "write.pid").write_text(str(os.getpid()), "ascii")
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        self._lock.release()


def holder_of(folder: Path) -> str:
    """The process that last took the write lock, as far as it is known."""
    try:
        return (folder / "write.pid").read_text("ascii") or "another one"
    except OSError:
        return "another one"
