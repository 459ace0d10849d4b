"""The engine without async: one private event loop in one thread, so that it also works in notebooks."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from veridical import engine as asynchronous
from veridical.errors import ConfigError, InputRefused
from veridical.settings import Settings, load
from veridical.types import Answer, Document, Filter, Json, Passage

if TYPE_CHECKING:
    from veridical.events import Sink
    from veridical.index import Problem, Stats
    from veridical.index.records import Listed, Stale
    from veridical.ingest import Progress, Report
    from veridical.methods.condense import Turn
    from veridical.methods.joints import Method

Result = TypeVar("Result")


class Engine:
    """`Engine("kb")` opens or begins an index in the folder kb; other settings by keyword: `llm="smollm2"`."""

    def __init__(self, index: str | Path | None = None, *, settings: Settings | None = None, **overrides: Json) -> None:
        flags: dict[str, Json] = {key.replace("__", "."): value for key, value in overrides.items()}
        if index is not None:
            flags["index"] = str(index)
        if settings is not None and flags:
            raise ConfigError(
                f"both settings and {', '.join(flags)} were given", fix="put everything into Settings, or nothing"
            )
        self.settings = settings or load(flags).settings
        self._engine = asynchronous.build(self.settings)
        self._loop = _Loop()
        # Also when nobody closes it: at the latest when the interpreter ends.
        self._close = weakref.finalize(self, _close, self._loop, self._engine)

    def add(
        self, *paths: str | Path, tags: Sequence[str] = (), on_progress: Callable[[Progress], None] | None = None
    ) -> Report:
        return self._wait(self._engine.add(*paths, tags=tags, on_progress=on_progress))

    def add_beir(self, corpus: str | Path, on_progress: Callable[[Progress], None] | None = None) -> Report:
        return self._wait(self._engine.add_beir(corpus, on_progress))

    def sync(self, *paths: str | Path, on_progress: Callable[[Progress], None] | None = None) -> Report:
        return self._wait(self._engine.sync(*paths, on_progress=on_progress))

    def remove(self, *names: str) -> int:
        return self._wait(self._engine.remove(*names))

    def rebuild(self, on_progress: Callable[[Progress], None] | None = None) -> Report:
        return self._wait(self._engine.rebuild(on_progress))

    def search(self, query: str, k: int | None = None, where: Filter | None = None) -> Sequence[Passage]:
        return self._wait(self._engine.search(query, k, where))

    def search_many(
        self, queries: Sequence[str], k: int | None = None, where: Filter | None = None
    ) -> Sequence[Sequence[Passage]]:
        return self._wait(self._engine.search_many(queries, k, where))

    def ask(
        self,
        question: str,
        *,
        method: str | Method | None = None,
        where: Filter | None = None,
        history: Sequence[Turn] = (),
        sinks: Sequence[Sink] = (),
    ) -> Answer:
        return self._wait(self._engine.ask(question, method=method, where=where, history=history, sinks=sinks))

    def verify(self, text: str, passages: Sequence[Passage] | None = None, *, sinks: Sequence[Sink] = ()) -> Answer:
        """The text as an answer to no question: each sentence a claim with its verdict, evidence and score.

        With `passages`, mark [n] of the text means passages[n-1]; without, each sentence is checked against the
        passages that the index holds about it. Raises InputRefused for what is no text.
        """
        if not _is_text(text):
            raise InputRefused(f"a text is needed, not {type(text).__name__}", fix="give the text to check as a str")
        return self._wait(self._engine.verify(text, passages, sinks=sinks))

    @property
    def threshold(self) -> float:
        """The score from which on a claim counts as supported. Raises ModelUnavailable without a judge."""
        chosen = self._engine.policy.threshold
        return self._engine.judge.threshold if chosen is None else chosen

    def document(self, document_id: str) -> Document | None:
        return self._wait(self._engine.document(document_id))

    def documents(self, where: Filter | None = None, limit: int = -1, offset: int = 0) -> Sequence[Listed]:
        return self._wait(self._engine.documents(where, limit, offset))

    def stale(self) -> Stale:
        return self._wait(self._engine.stale())

    def stats(self) -> Stats:
        return self._wait(self._engine.stats())

    def check(self) -> Sequence[Problem]:
        return self._wait(self._engine.check())

    def close(self) -> None:
        """Stops what runs and closes the index. Calling it twice does nothing."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._loop.wait(work)


def _is_text(given: object) -> bool:
    return isinstance(given, str)


class _Loop:
    """An event loop that runs in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._loop.run_forever, name="veridical", daemon=True)
        self.thread.start()

    def wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        if self._loop.is_closed():
            work.close()
            raise ConfigError("this engine is closed", fix="make a new Engine")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:  # Ctrl-C must stop the work, not only the waiting
            future.cancel()
            raise

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self.thread.join()
        self._loop.close()


def _close(loop: _Loop, engine: asynchronous.Engine) -> None:
    if threading.current_thread() is loop.thread or not loop.thread.is_alive():
        return  # dropped by the loop's own last task: there is nothing left to wait for
    loop.wait(_stop_work())
    loop.wait(engine.close())
    loop.stop()


async def _stop_work() -> None:
    """Waits for what Ctrl-C cancelled to end; a task that outlives its loop complains on stderr."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
