"""A run as it goes: what it tells while it works, and what it reports at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from veridical.corpus import Refused
from veridical.index import Entry, SourceRow


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands. `done` of `total` counts sources; `share` is 0..1 by their size."""

    stage: str
    done: int
    total: int
    passages: int
    current: str
    seconds: float
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did. One broken file is a row in `refused`; it never stops the rest."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    documents: int = 0
    passages: int = 0
    refused: tuple[Refused, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0


@dataclass(slots=True)
class Run:
    """The report that grows, and the batch that waits to be stored."""

    on_progress: Callable[[Progress], None] | None = None
    stage: str = "reading"
    total: int = 0
    done: int = 0
    size: int = 0
    size_done: int = 0
    current: str = ""
    entries: list[Entry] = field(default_factory=list)
    finished: list[SourceRow] = field(default_factory=list)
    begun: set[str] = field(default_factory=set)
    replaced: set[str] = field(default_factory=set)
    _report: Report = Report()
    _began: float = field(default_factory=time.monotonic)

    def count(self, **more: int) -> None:
        self._report = replace(self._report, **{name: getattr(self._report, name) + n for name, n in more.items()})

    def refuse(self, refused: Refused) -> None:
        self._report = replace(self._report, refused=(*self._report.refused, refused))

    def warn(self, uri: str, warnings: Sequence[str]) -> None:
        self._report = replace(self._report, warnings=(*self._report.warnings, *((uri, text) for text in warnings)))

    @property
    def waiting(self) -> int:
        """How much of a batch has come together: passages, and documents that hold none."""
        return sum(max(len(entry.passages), 1) for entry in self.entries)

    def tell(self, stage: str | None = None) -> None:
        self.stage = stage or self.stage
        if self.on_progress is not None:
            share = min(self.size_done / self.size, 1.0) if self.size else 0.0
            seconds, passages = time.monotonic() - self._began, self._report.passages
            self.on_progress(Progress(self.stage, self.done, self.total, passages, self.current, seconds, share))

    def report(self) -> Report:
        return replace(self._report, seconds=time.monotonic() - self._began)
