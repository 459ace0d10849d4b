"""Worker processes that parse: results in order of the sources, crashes and hangs kept to their file.

The processes are started by hand, not by `multiprocessing`, which would run the user's own script again in every
child: `engine.add("docs/")` must work in a script without a main guard, and beside threads, where forking does not.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import IO, cast

from veridical.corpus.parse import Parsed, parse_source
from veridical.corpus.source import ReadOptions, Refused, Source
from veridical.corpus.tokens import open_counter
from veridical.errors import ConfigError

_QUEUED = 4  # sources a worker has at hand, so that it need not wait for us between small files
_START = "import sys; sys.path[:] = {path!r}; from veridical.corpus.worker import serve; serve()"
# Below this, starting processes costs more than they save.
_FEW_SOURCES = 8
_FEW_BYTES = 4 * 1024 * 1024


def parse_all(sources: Iterable[Source | Refused], options: ReadOptions, workers: int) -> Generator[Parsed | Refused]:
    """Everything the sources hold, in their order; what was refused before passes through.

    Runs in this process with one worker or little to do, otherwise in processes of its own, where a reader that
    crashes or hangs costs only its file. Raises ConfigError when the options cannot work for any file.
    """
    waiting = iter(sources)
    first = list(islice(waiting, _FEW_SOURCES))
    little = len(first) < _FEW_SOURCES and sum(item.size for item in first if isinstance(item, Source)) < _FEW_BYTES
    everything = chain(first, waiting)
    if workers > 1 and not little:
        yield from parse_in_processes(everything, options, workers)
        return
    count = open_counter(options.tokenizer)
    for item in everything:
        if isinstance(item, Refused):
            yield item
        else:
            yield from parse_source(item, options, count)


@dataclass(slots=True, eq=False)
class _Worker:
    """A process that takes sources on its stdin and answers on its stdout, pickled."""

    options: ReadOptions
    queued: int = 0
    timed_out: bool = False
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(  # noqa: S603 (our own interpreter, our own code)
            [sys.executable, "-c", _START.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # what C libraries mutter about a file; its report comes as a value
            env={**os.environ, "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"},
        )
        self._send(self.options)

    def give(self, source: Source) -> None:
        self.queued += 1
        self._send(source)

    def take(self) -> Parsed | Refused:
        """The next answer. Raises EOFError when the process is gone, ConfigError when the options are wrong."""
        watch = threading.Timer(self.options.timeout_s, self._give_up)
        watch.start()
        try:
            answer = pickle.load(cast("IO[bytes]", self.process.stdout))  # noqa: S301 (from our own child)
        except (pickle.UnpicklingError, OSError) as error:  # cut off in the middle of an answer
            raise EOFError from error
        finally:
            watch.cancel()
        if isinstance(answer, ConfigError):
            raise answer
        self.queued -= _is_last(answer)
        return cast("Parsed | Refused", answer)

    def epitaph(self) -> str:
        """Why the process is gone, in words."""
        code = self.process.wait()
        if self.timed_out:
            return f"took longer than {self.options.timeout_s:g} s"
        if code == -signal.SIGKILL:
            return "its reader was killed (out of memory?)"
        return f"its reader crashed ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"

    def close(self) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with suppress(BrokenPipeError):  # bytes still buffered for a process that is gone
                    pipe.close()
        self.process.wait()

    def _send(self, item: object) -> None:
        stdin = cast("IO[bytes]", self.process.stdin)
        with suppress(BrokenPipeError):  # a dead worker is noticed, and explained, when its answer is taken
            pickle.dump(item, stdin)
            stdin.flush()

    def _give_up(self) -> None:
        self.timed_out = True
        self.process.kill()


def parse_in_processes(
    items: Iterable[Source | Refused], options: ReadOptions, workers: int
) -> Iterator[Parsed | Refused]:
    """As `parse_all`. At most four sources a worker are under way, and a worker waits until its answer is taken."""
    waiting = iter(items)
    team = [_Worker(options) for _ in range(workers)]
    under_way: deque[tuple[_Worker | None, Source | Refused]] = deque()
    try:
        while True:
            _hand_out(waiting, team, under_way)
            if not under_way:
                return
            worker, item = under_way.popleft()
            if isinstance(item, Refused):
                yield item
            elif worker is None:
                yield from parse_source(item, options, open_counter(options.tokenizer))
            else:
                yield from _answers(worker, item, team, under_way)
    finally:
        for worker in team:
            worker.close()


def _hand_out(
    waiting: Iterator[Source | Refused], team: list[_Worker], under_way: deque[tuple[_Worker | None, Source | Refused]]
) -> None:
    while len(under_way) < len(team) * _QUEUED:
        item = next(waiting, None)
        if item is None:
            return
        worker = None
        # Content that is here already is parsed here: sending it to a worker that is itself sending would lock both.
        if isinstance(item, Source) and item.content is None:
            worker = min(team, key=lambda each: each.queued)
            worker.give(item)
        under_way.append((worker, item))


def _answers(
    worker: _Worker, source: Source, team: list[_Worker], under_way: deque[tuple[_Worker | None, Source | Refused]]
) -> Iterator[Parsed | Refused]:
    while True:
        try:
            answer = worker.take()
        except EOFError:
            yield Refused(source.uri, worker.epitaph(), "Leave the file out, or save it in another format.")
            _replace(worker, team, under_way)
            return
        yield answer
        if _is_last(answer):
            return


def _is_last(answer: Parsed | Refused) -> bool:
    return isinstance(answer, Refused) or answer.last


def _replace(gone: _Worker, team: list[_Worker], under_way: deque[tuple[_Worker | None, Source | Refused]]) -> None:
    """A new worker in place of one that is gone, given what the other had not come to."""
    gone.close()
    fresh = _Worker(gone.options)
    team[team.index(gone)] = fresh
    for at, (worker, item) in enumerate(under_way):
        if worker is gone and isinstance(item, Source):
            under_way[at] = (fresh, item)
            fresh.give(item)
