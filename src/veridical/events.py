"""One stream of events: the command line, the trace file and every other view read it, and nothing else.

A span is a piece of work with a name. It begins with `Started` and ends with `Ended` or `Failed`; tokens that
a model writes within it come as `Token`. Each sentence comes as `Pending` once it is complete and as `Decided`
once it is checked: pending before decided, both in the order of the text. Sinks are callables; a sink that raises
stops the work it watches.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import IO, TypeAlias

from veridical.errors import VeridicalError
from veridical.types import Claim, Json


@dataclass(frozen=True, slots=True)
class Started:
    span: int
    parent: int | None
    name: str
    at: float
    detail: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    span: int
    name: str
    at: float
    seconds: float
    detail: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failed:
    span: int
    name: str
    at: float
    seconds: float
    error: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    span: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A complete sentence that is being checked. `text` is as it was written, marks and all; `number` counts from 1."""

    span: int | None
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Decided:
    """The verdict on the sentence of that number. The claim's span is into the draft as it stood; the answer's
    own verdicts, which come last, are the ones that count."""

    span: int | None
    number: int
    claim: Claim


Event: TypeAlias = Started | Ended | Failed | Token | Pending | Decided
Sink: TypeAlias = Callable[[Event], None]

# The span that encloses the running task; tasks started within it inherit it, so parallel work nests rightly.
_enclosing: ContextVar[int | None] = ContextVar("veridical_span", default=None)


class Note:
    """Collects what a span learns while it runs; it goes out with `Ended`."""

    def __init__(self) -> None:
        self.detail: dict[str, Json] = {}

    def __call__(self, **detail: Json) -> None:
        self.detail.update(detail)


class Trace:
    """Numbers the spans of one question and hands its events to the sinks, in order."""

    def __init__(self, sinks: Sequence[Sink] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self.id = uuid.uuid4().hex[:16]
        self._sinks = tuple(sinks)
        self._clock = clock
        self._began = clock()
        self._numbers = count(1)

    @property
    def seconds(self) -> float:
        return self._clock() - self._began

    @property
    def enclosing(self) -> int | None:
        """The number of the span that the running task is in."""
        return _enclosing.get()

    def emit(self, event: Event) -> None:
        for sink in self._sinks:
            sink(event)

    def token(self, text: str) -> None:
        self.emit(Token(_enclosing.get(), text))

    @contextmanager
    def span(self, name: str, **detail: Json) -> Iterator[Note]:
        number, began, note = next(self._numbers), self.seconds, Note()
        self.emit(Started(number, _enclosing.get(), name, began, detail))
        token = _enclosing.set(number)
        try:
            yield note
        except BaseException as error:
            now = self.seconds
            message = error.message if isinstance(error, VeridicalError) else f"{type(error).__name__}: {error}"
            fix = error.fix if isinstance(error, VeridicalError) else ""
            self.emit(Failed(number, name, now, now - began, message, fix))
            raise
        finally:
            _enclosing.reset(token)
        now = self.seconds
        self.emit(Ended(number, name, now, now - began, note.detail))


def to_json(event: Event) -> dict[str, Json]:
    return {"event": type(event).__name__.lower(), **asdict(event)}


def write_jsonl(stream: IO[str]) -> Sink:
    """A sink that writes one JSON object a line and flushes it, so that a killed run leaves its trace."""

    def sink(event: Event) -> None:
        stream.write(json.dumps(to_json(event), ensure_ascii=False) + "\n")
        stream.flush()

    return sink
