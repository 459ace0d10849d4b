"""Hybrid search end to end, from a fresh process: time, memory, and bytes on disk."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import built, corpus
from benchmarks.datasets import Setup
from benchmarks.machine import ROOT
from benchmarks.report import AT_MOST, Figure, Section
from veridical.index.library import Index

_OPENINGS = 7


def run(setup: Setup) -> Section:
    passages = corpus.build(setup)
    folder, built_s = built.build(setup, passages)
    questions = corpus.questions()
    openings = [_probe(folder, questions[n : n + 1]) for n in range(_OPENINGS + 1)][1:]  # the first fills disk caches
    searched = _probe(folder, questions)
    note = f"{built_s:.0f} s CPU to build, vectors given" if built_s else "built by an earlier benchmark"
    return Section(
        name="hybrid",
        title="Hybrid search, end to end",
        page="engine",
        how="`Engine.search(question, 10)` with the question embedded by the shipped model, on "
        f"{passages.words}, with synthetic vectors. {len(questions)} questions of Natural Questions.",
        figures=(*_times(searched), *_opening(openings), *_memory(searched, openings), *_disk(folder, passages)),
        notes=(f"Opening: median of {_OPENINGS} fresh processes, one question each. {note}.",),
    )


def _probe(folder: Path, questions: Sequence[str]) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.probe", str(folder)],
        input="\n".join(questions),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _times(searched: dict[str, float]) -> list[Figure]:
    return [
        Figure("hybrid search, wall clock, p50", searched["wall_p50_ms"], "ms"),
        Figure("hybrid search, wall clock, p99", searched["wall_p99_ms"], "ms"),
        Figure("hybrid search, CPU, p50", searched["cpu_p50_ms"], "ms CPU"),
        Figure("hybrid search, CPU, p99", searched["cpu_p99_ms"], "ms CPU"),
    ]


def _opening(openings: Sequence[dict[str, float]]) -> list[Figure]:
    def middle(*parts: str) -> float:
        return statistics.median(sum(opening[part] for part in parts) for opening in openings)

    bare = middle("open_s", "first_s")
    beyond = middle("imports_s", "open_s", "first_s")
    whole = middle("interpreter_s", "imports_s", "open_s", "first_s")
    return [
        Figure("index open to first answer, imports done", bare, "s CPU", AT_MOST, 0.3),
        Figure("index open to first answer, imports included", beyond, "s CPU", AT_MOST, 0.3),
        Figure("the same with the interpreter's own start", whole, "s CPU"),
    ]


def _memory(searched: dict[str, float], openings: Sequence[dict[str, float]]) -> list[Figure]:
    first = statistics.median(opening["first_mb"] for opening in openings)
    return [
        Figure("resident memory after the first answer, peak", first, "MB"),
        Figure("resident memory after all questions, peak", searched["peak_mb"], "MB"),
    ]


def _disk(folder: Path, passages: corpus.Corpus) -> list[Figure]:
    with Index.open(folder) as index:
        parts = index.stats().bytes_on_disk
    split = ", ".join(f"{part} {size / passages.size:,.0f}" for part, size in parts.items())
    text = sum(len(passage.text.encode()) for passage in passages.passages()) / passages.size
    note = f"{split}; a passage's own text has {text:,.0f} bytes"
    return [Figure("bytes on disk a passage", sum(parts.values()) / passages.size, "bytes", note=note)]
