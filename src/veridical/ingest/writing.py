"""The index's writer for async callers, driven by one thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from veridical.index import Index, Writer

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Writing:
    """Holds the write lock from entering to leaving. Whoever is cancelled in the middle of a change leaves after it:
    the lock is never free while something is still being written. Entering raises IndexBusy."""

    def __init__(self, index: Index) -> None:
        self.writer: Writer = index.writer()
        self._thread = ThreadPoolExecutor(1, "veridical-write")
        self._entered = False

    async def do(
        self, change: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Runs a method of the writer, after those that were called before it."""
        return await asyncio.wrap_future(self._thread.submit(change, *args, **kwargs))

    async def __aenter__(self) -> Self:
        try:
            await self.do(self._enter)
        except BaseException:
            self._thread.submit(self._leave)
            self._thread.shutdown(wait=False)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        left = self._thread.submit(self._leave)  # behind the change that may still be under way
        self._thread.shutdown(wait=False)
        await asyncio.wrap_future(left)

    def _enter(self) -> None:
        self.writer.__enter__()
        self._entered = True

    def _leave(self) -> None:
        if self._entered:
            self._entered = False
            self.writer.__exit__(None, None, None)
