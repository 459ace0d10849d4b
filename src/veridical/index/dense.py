"""The derived vector index: an exact scan over int8 codes, then a rescore of the best with the stored vectors.

Folder: `state.json` names the generation, how many slots and dead slots of its files count, and the last change
applied. `codes-<generation>` holds one int8 row a slot, `slots-<generation>` the passage row, document key and
scale of each, `dead-<generation>` the numbers of slots that were deleted. Files only grow; bytes beyond what
the state counts are left-overs of a killed writer and are overwritten.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numkong
import numpy as np
from numpy.typing import NDArray

from veridical.index.faults import storage_faults
from veridical.index.state import read_state, write_state
from veridical.ports import Vectors

_SLOT = np.dtype([("row", "<i8"), ("document", "<i8"), ("scale", "<f4"), ("unused", "<f4")])
_DEAD = np.dtype("<i8")
_SPARE = 50  # candidates beyond k that are rescored: int8 rounding moves a neighbour by a few places at most
_COMPACT_AT = 0.3  # share of dead slots
_GATHER_BELOW = 0.2  # share of allowed slots below which copying them out beats scanning all

Hits = list[tuple[int, float]]  # (passage row, cosine), best first
Exact = Callable[[Sequence[int]], Vectors]
Changes = Iterable[tuple[NDArray[np.int64], NDArray[np.int64], Vectors]]  # rows, document keys, vectors


class Damaged(Exception):
    """The files of a vector index contradict each other: it must be built anew."""


class DenseIndex(Protocol):
    """What a vector index must do: the scan below does it to some 300,000 passages, a graph could above."""

    def refresh(self) -> int:
        """Moves to the newest committed state: the last change it follows, -1 when it must be built."""
        ...

    def search(self, query: Vectors, k: int, exact: Exact, allowed: NDArray[np.int64] | None = None) -> Hits:
        """At most k passages nearest to one vector, best first, only in documents whose key is allowed."""
        ...

    def rows(self) -> NDArray[np.int64]:
        """The passage rows it holds, in no order; for checking."""
        ...

    def differing(self, rows: Sequence[int], vectors: Vectors) -> int:
        """How many of these passages it holds with another vector than given; for checking."""
        ...


class Scan:
    """The exact scan over one memory-mapped generation. Threads: one a query, so that queries run side by side."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        self._folder = folder
        self._dimensions = dimensions
        self._view: _View | None = None

    def refresh(self) -> int:
        for _ in range(5):  # a compaction may delete the files between reading the state and opening them
            state = read_state(self._folder)
            if not state or state.get("dimensions") != self._dimensions:
                return -1
            try:
                self._view = _view(self._folder, state)
                return state["seq"]
            except (Damaged, KeyError):
                continue
        return -1

    def __len__(self) -> int:
        return 0 if self._view is None else int(self._view.live.sum())

    def rows(self) -> NDArray[np.int64]:
        return np.empty(0, np.int64) if self._view is None else self._view.rows[self._view.live]

    def differing(self, rows: Sequence[int], vectors: Vectors) -> int:
        view = self._view
        if view is None:
            return len(rows)
        live = np.flatnonzero(view.live)
        order = live[np.argsort(view.rows[live])]
        slots = order[np.searchsorted(view.rows[order], rows).clip(max=len(order) - 1)] if len(order) else []
        return int((view.codes[slots] != quantise(vectors)[0]).any(axis=1).sum()) if len(slots) else len(rows)

    def search(self, query: Vectors, k: int, exact: Exact, allowed: NDArray[np.int64] | None = None) -> Hits:
        view = self._view
        if view is None or not len(view.rows) or k < 1:
            return []
        places = view.nearest(query, k + _SPARE, allowed)
        rows = view.rows[places].tolist()
        if not rows:
            return []
        # NumKong rather than BLAS: OpenBLAS would wake a thread a core for this handful of products.
        scores = np.asarray(numkong.cdist(query.reshape(1, -1), exact(rows), "dot", out_dtype="float32"))[0]
        known = [(row, score) for row, score in zip(rows, scores.tolist(), strict=True) if not math.isnan(score)]
        return sorted(known, key=lambda hit: (-hit[1], hit[0]))[:k]


class _View:
    """The files of one state, mapped read-only."""

    def __init__(self, folder: Path, state: dict[str, int]) -> None:
        slots, dimensions = state["slots"], state["dimensions"]
        name = state["generation"]
        self.codes = _mapped(folder / f"codes-{name}", np.dtype(np.int8), (slots, dimensions))
        table = _mapped(folder / f"slots-{name}", _SLOT, (slots,))
        dead = _mapped(folder / f"dead-{name}", _DEAD, (state["dead"],))
        self.rows: NDArray[np.int64] = np.ascontiguousarray(table["row"])
        self.documents: NDArray[np.int64] = np.ascontiguousarray(table["document"])
        self.scales: NDArray[np.float32] = np.ascontiguousarray(table["scale"])
        self.live = np.ones(slots, np.bool_)
        self.live[dead] = False
        self.dead = len(dead)

    def nearest(self, query: Vectors, n: int, allowed: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """The slots of the n best codes, unordered."""
        code, _ = quantise(query.reshape(1, -1))
        if allowed is None:
            scores = self._scores(code, self.codes, self.scales)
            if self.dead:
                scores[~self.live] = -np.inf
            return best(scores, n)
        open_slots = np.flatnonzero(self.live & np.isin(self.documents, allowed))
        if len(open_slots) < _GATHER_BELOW * len(self.rows):
            scores = self._scores(code, self.codes[open_slots], self.scales[open_slots])
            return open_slots[best(scores, n)]
        scores = self._scores(code, self.codes, self.scales)
        return open_slots[best(scores[open_slots], n)]

    @staticmethod
    def _scores(code: NDArray[np.int8], codes: NDArray[np.int8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
        if not len(codes):
            return np.empty(0, np.float32)
        # float32 holds every int8 dot product of up to 1,040 dimensions exactly.
        products = np.asarray(numkong.cdist(code, codes, "dot", out_dtype="float32"))[0]
        scores: NDArray[np.float32] = products * scales
        return scores


def _view(folder: Path, state: dict[str, int]) -> _View:
    """Raises Damaged when a file is missing, short or names what is not there."""
    try:
        return _View(folder, state)
    except (OSError, ValueError, OverflowError, LookupError) as error:
        raise Damaged(str(error)) from error


def best(scores: NDArray[np.float32], n: int) -> NDArray[np.int64]:
    """The places of the n highest scores above -inf, unordered."""
    places = np.flatnonzero(scores > -np.inf) if len(scores) <= 8 * n else _above_sampled(scores, n)
    if len(places) <= n:
        return places
    chosen = scores[places]
    return places[np.argpartition(chosen, len(places) - n)[len(places) - n :]]


def _above_sampled(scores: NDArray[np.float32], n: int) -> NDArray[np.int64]:
    """A superset of the n best: all above a bar guessed from every 50th score. Ten times faster than a partition."""
    sample = scores[::50]
    rank = min(len(sample), 2 + 4 * n // 50)
    bar = np.partition(sample, len(sample) - rank)[len(sample) - rank]
    places = np.flatnonzero(scores > bar)
    return places if len(places) >= n else np.flatnonzero(scores > -np.inf)


def quantise(vectors: Vectors) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """int8 codes and the factor that turns each row's back into the vector, up to rounding."""
    scales = np.maximum(np.abs(vectors).max(axis=1), 1e-12).astype(np.float32) / 127
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


def _mapped(file: Path, kind: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if not shape[0]:  # an empty file cannot be mapped
        return np.empty(shape, kind)
    return np.memmap(file, kind, "r", shape=shape)


class ScanWriter:
    """Applies changes of the store. Only the holder of the write lock may have one."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        self._folder = folder
        self._dimensions = dimensions

    def applied(self) -> int:
        return Scan(self._folder, self._dimensions).refresh()

    def apply(self, removed: NDArray[np.int64], added: Changes, seq: int) -> None:
        """Appends, marks dead, and moves the state once. A row that is there already is replaced. Raises Damaged."""
        with storage_faults(self._folder):
            state = read_state(self._folder)
            view = _view(self._folder, state)
            slots, gone = state["slots"], [removed]
            highest = view.rows.max(initial=-1)
            for rows, documents, vectors in added:
                gone.append(rows[rows <= highest])  # rows only grow, so a newer one cannot be there already
                slots = self._append(state["generation"], slots, rows, documents, vectors)
            every_gone = np.concatenate(gone)
            dead = np.flatnonzero(view.live & np.isin(view.rows, every_gone)) if len(every_gone) else every_gone
            _write_at(
                self._folder / f"dead-{state['generation']}", state["dead"] * _DEAD.itemsize, [dead.astype(_DEAD)]
            )
            write_state(self._folder, {**state, "slots": slots, "dead": state["dead"] + len(dead), "seq": seq})
            if state["dead"] + len(dead) > _COMPACT_AT * slots:
                self._compact(seq)

    def rebuild(self, added: Changes, seq: int) -> None:
        """Writes the next generation beside the present one, then switches to it."""
        with storage_faults(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            generation, slots = self._next_generation(), 0
            for rows, documents, vectors in added:
                slots = self._append(generation, slots, rows, documents, vectors)
            self._switch(generation, slots, seq)

    def _append(
        self, generation: int, slots: int, rows: NDArray[np.int64], documents: NDArray[np.int64], vectors: Vectors
    ) -> int:
        codes, scales = quantise(vectors)
        table = np.zeros(len(rows), _SLOT)
        table["row"], table["document"], table["scale"] = rows, documents, scales
        _write_at(self._folder / f"codes-{generation}", slots * self._dimensions, [codes])
        _write_at(self._folder / f"slots-{generation}", slots * _SLOT.itemsize, [table])
        return slots + len(rows)

    def _compact(self, seq: int) -> None:
        view = _view(self._folder, read_state(self._folder))
        keep = np.flatnonzero(view.live)
        table = np.zeros(len(keep), _SLOT)
        table["row"], table["document"], table["scale"] = view.rows[keep], view.documents[keep], view.scales[keep]
        generation = self._next_generation()
        blocks = [view.codes[keep[start : start + 50_000]] for start in range(0, len(keep), 50_000)]
        _write_at(self._folder / f"codes-{generation}", 0, blocks)
        _write_at(self._folder / f"slots-{generation}", 0, [table])
        self._switch(generation, len(keep), seq)

    def _next_generation(self) -> int:
        used = [int(old.name.partition("-")[2]) for old in self._folder.glob("*-[0-9]*")]
        return 1 + max([read_state(self._folder).get("generation", 0), *used])

    def _switch(self, generation: int, slots: int, seq: int) -> None:
        state = {"generation": generation, "slots": slots, "dead": 0, "seq": seq, "dimensions": self._dimensions}
        write_state(self._folder, state)
        for old in self._folder.glob("*-[0-9]*"):
            if old.name.partition("-")[2] != str(generation):
                old.unlink(missing_ok=True)


def _write_at(file: Path, offset: int, blocks: Sequence[NDArray[Any]]) -> None:
    """Writes and syncs; what stood behind is cut off."""
    if not any(len(block) for block in blocks):
        return
    handle = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
    with os.fdopen(handle, "r+b", buffering=0) as stream:
        stream.seek(offset)
        for block in blocks:
            rest = np.ascontiguousarray(block).view(np.uint8).reshape(-1).data
            while rest:  # an unbuffered write may be short
                rest = rest[stream.write(rest) :]
        stream.truncate()
        os.fsync(stream.fileno())
