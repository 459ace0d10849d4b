"""Parsing many sources: results in their order, a crash or a hang kept to its file."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeAlias

from veridical.corpus.formats import known_format
from veridical.corpus.parse import Parsed, parse_source
from veridical.corpus.source import ReadOptions, Refused, Source
from veridical.corpus.team import Team, Worker, WorkerGone, is_last
from veridical.corpus.tokens import open_counter
from veridical.errors import InputRefused

_QUEUED = 4  # sources a worker has at hand, so that it need not wait for us between small files
# Below this, starting a process a core costs more than it saves.
_FEW_SOURCES = 8
_FEW_BYTES = 4 * 1024 * 1024
# Readers in plain Python that go over their text once: they neither crash nor hang, and need no process of their own.
_HARMLESS = frozenset({"plain", "markdown", "code", "records"})

_UnderWay: TypeAlias = "deque[tuple[Worker | None, Source | Refused]]"


def parse_all(sources: Iterable[Source | Refused], options: ReadOptions, workers: int) -> Parsing:
    """Everything the sources hold, in their order; what was refused before passes through.

    With one worker or little to do, plain text is parsed in this process. All else is parsed in processes of its
    own, where a reader that crashes or hangs costs only its file. Raises ConfigError when the options cannot work
    for any file.
    """
    waiting = iter(sources)
    first = list(islice(waiting, _FEW_SOURCES))
    little = len(first) < _FEW_SOURCES and sum(item.size for item in first if isinstance(item, Source)) < _FEW_BYTES
    alone = little or workers < 2
    team = Team(options, 1 if alone else workers)
    return Parsing(team, _parse(chain(first, waiting), team, harmless_here=alone))


class Parsing(Generator["Parsed | Refused", None, None]):
    """A generator that may be stopped while another thread waits for its next value."""

    def __init__(self, team: Team, answers: Generator[Parsed | Refused]) -> None:
        self._team = team
        self._answers = answers
        self._stepping = threading.Lock()

    def send(self, value: None) -> Parsed | Refused:
        with self._stepping:
            return self._answers.send(value)

    def throw(self, *error: Any) -> Parsed | Refused:
        with self._stepping:
            return self._answers.throw(*error)

    def stop(self) -> None:
        """Kills the worker processes and returns at once; a value that is waited for no longer comes."""
        self._team.stop()

    def close(self) -> None:
        """Stops, and returns when nothing is left running. For any thread."""
        self.stop()
        with self._stepping:
            self._answers.close()


def _parse(items: Iterator[Source | Refused], team: Team, *, harmless_here: bool) -> Generator[Parsed | Refused]:
    """At most four sources a worker are under way, and a worker waits until its answer is taken."""
    under_way: _UnderWay = deque()
    count = None
    try:
        while not team.stopped:
            _hand_out(items, team, under_way, harmless_here=harmless_here)
            if not under_way:
                return
            worker, item = under_way.popleft()
            if isinstance(item, Refused):
                yield item
            elif worker is None and _is_harmless(item):
                count = count or open_counter(team.options.tokenizer)
                yield from parse_source(item, team.options, count)
            else:
                yield from _answers(worker, item, team, under_way)
    except WorkerGone:  # stopped
        return
    finally:
        team.close()


def _hand_out(items: Iterator[Source | Refused], team: Team, under_way: _UnderWay, *, harmless_here: bool) -> None:
    while len(under_way) < team.most * _QUEUED:
        item = next(items, None)
        if item is None:
            return
        worker = None
        # Content waits for its turn, and a worker of its own: sending it to one that is itself sending locks both.
        if isinstance(item, Source) and item.content is None and not (harmless_here and _is_harmless(item)):
            worker = team.give(item)
        under_way.append((worker, item))


def _is_harmless(source: Source) -> bool:
    """Whether plain Python alone reads it. What a URL, or a file whose name says nothing, holds is not known yet."""
    if source.path is None and source.content is None:
        return False
    try:
        fmt = known_format(source.uri, source.media_type)
    except InputRefused:
        return True  # it is refused by its name
    return fmt is not None and fmt.reader in _HARMLESS


def _answers(worker: Worker | None, source: Source, team: Team, under_way: _UnderWay) -> Iterator[Parsed | Refused]:
    """What a worker says of a source; without a worker, one that does nothing else is started for it."""
    its_own = worker is None
    if worker is None:
        worker = team.start()
        worker.give(source)
    while True:
        try:
            answer = worker.take()
        except WorkerGone:
            if team.stopped:
                raise
            yield Refused(source.uri, worker.epitaph(), "Leave the file out, or save it in another format.")
            _replace(worker, team, under_way)
            return
        yield answer
        if is_last(answer):
            break
    if its_own:
        team.dismiss(worker)


def _replace(gone: Worker, team: Team, under_way: _UnderWay) -> None:
    """A new worker in place of one that is gone takes what the other had not come to, in the same order."""
    team.dismiss(gone)
    left = [at for at, (worker, _) in enumerate(under_way) if worker is gone]
    fresh = team.start() if left else None
    for at in left:
        item = under_way[at][1]
        if fresh and isinstance(item, Source):
            fresh.give(item)
            under_way[at] = (fresh, item)
