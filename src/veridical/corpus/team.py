"""The worker processes that parse, and how one that crashes, hangs or babbles is told from one that answers.

They are started by hand, not by `multiprocessing`, which would run the user's own script again in every child:
`engine.add("docs/")` must work in a script without a main guard, and beside threads, where forking does not.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, cast

from veridical.corpus.parse import Parsed
from veridical.corpus.source import ReadOptions, Refused, Source
from veridical.errors import ConfigError

_START = "import sys; sys.path[:] = {path!r}; from veridical.corpus.worker import serve; serve()"
_LAST_WORDS_S = 5.0  # how long a process whose answers have ended may take to end itself


class WorkerGone(Exception):
    """The process gives no more answers; `Worker.epitaph` says why."""


@dataclass(slots=True, eq=False)
class Worker:
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
        try:
            self._send(self.options)
        except BaseException:
            self.close()
            raise

    def give(self, source: Source) -> None:
        self.queued += 1
        self._send(source)

    def take(self) -> Parsed | Refused:
        """The next answer. Raises WorkerGone when there is none, ConfigError when the options are wrong."""
        watch = threading.Timer(self.options.timeout_s, self._give_up)
        watch.start()
        try:
            answer = pickle.load(cast("IO[bytes]", self.process.stdout))  # noqa: S301 (from our own child)
        except Exception as error:  # the answer was cut off or garbled, and unpickling that may raise anything
            raise WorkerGone from error
        finally:
            watch.cancel()
        if isinstance(answer, ConfigError):
            raise answer
        if not isinstance(answer, Parsed | Refused):
            raise WorkerGone
        self.queued -= is_last(answer)
        return answer

    def epitaph(self) -> str:
        """Why the process gives no more answers, in words; afterwards it is gone for certain."""
        try:
            code = self.process.wait(_LAST_WORDS_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "its reader gave a garbled answer"
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


class Team:
    """At most so many workers, each started when there is work for it."""

    def __init__(self, options: ReadOptions, most: int) -> None:
        self.options = options
        self.most = most
        self.stopped = False
        self._workers: list[Worker] = []
        self._changing = threading.Lock()  # stopping may come from another thread than starting

    def give(self, source: Source) -> Worker:
        """To a worker with nothing to do, else a new one, else the one with the least. Raises WorkerGone if stopped."""
        worker = min(self._workers, key=lambda each: each.queued, default=None)
        if worker is None or (worker.queued and len(self._workers) < self.most):
            worker = self.start()
        worker.give(source)
        return worker

    def start(self) -> Worker:
        with self._changing:
            if self.stopped:
                raise WorkerGone
            worker = Worker(self.options)
            self._workers.append(worker)
        return worker

    def dismiss(self, worker: Worker) -> None:
        with self._changing:
            self._workers.remove(worker)
        worker.close()

    def stop(self) -> None:
        """Ends every process and lets none begin, so that whoever waits for an answer gets none. For any thread."""
        with self._changing:
            self.stopped = True
            for worker in self._workers:
                worker.process.kill()

    def close(self) -> None:
        self.stop()
        for worker in self._workers:
            worker.close()


def is_last(answer: Parsed | Refused) -> bool:
    """Whether a source has no more to come after this."""
    return isinstance(answer, Refused) or answer.last
