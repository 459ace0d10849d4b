"""CPU time, medians and fair comparison: contestants take turns on every input, so that noise falls on all alike."""

from __future__ import annotations

import gc
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

Input = TypeVar("Input")
_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024


@dataclass(slots=True)
class Times:
    """Milliseconds a call, CPU (all threads of this process) and wall clock; one value an input."""

    cpu_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)

    @property
    def p50(self) -> float:
        return statistics.median(self.cpu_ms)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.cpu_ms)

    def as_dict(self) -> dict[str, float]:
        return {
            "cpu_p50_ms": percentile(self.cpu_ms, 50),
            "cpu_p99_ms": percentile(self.cpu_ms, 99),
            "cpu_mean_ms": self.mean,
            "wall_p50_ms": percentile(self.wall_ms, 50),
            "wall_p99_ms": percentile(self.wall_ms, 99),
            "calls": len(self.cpu_ms),
        }


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile: a value that was measured, never one between two."""
    ordered = sorted(values)
    return ordered[max(math.ceil(percent / 100 * len(ordered)), 1) - 1]


def compare(
    contestants: Mapping[str, Callable[[Input], object]], inputs: Sequence[Input], rounds: int = 3
) -> dict[str, Times]:
    """Times every contestant on every input, in turn; of the rounds the median counts for each input."""
    names = list(contestants)
    for name in names:  # first calls load and map what later calls find ready
        for one in inputs[:3]:
            contestants[name](one)
    gc.collect()
    samples: dict[str, list[list[tuple[float, float]]]] = {name: [[] for _ in inputs] for name in names}
    for turn in range(rounds):
        for place, one in enumerate(inputs):
            shift = (turn + place) % len(names)
            for name in names[shift:] + names[:shift]:
                samples[name][place].append(_timed(contestants[name], one))
    return {name: _medians(samples[name]) for name in names}


def measure(call: Callable[[Input], object], inputs: Sequence[Input], rounds: int = 3) -> Times:
    return compare({"only": call}, inputs, rounds)["only"]


def _timed(call: Callable[[Input], object], one: Input) -> tuple[float, float]:
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    call(one)
    return (time.process_time_ns() - cpu) / 1e6, (time.perf_counter_ns() - wall) / 1e6


def _medians(samples: Sequence[Sequence[tuple[float, float]]]) -> Times:
    cpu = [statistics.median(cpu for cpu, _ in tries) for tries in samples]
    wall = [statistics.median(wall for _, wall in tries) for tries in samples]
    return Times(cpu, wall)


def cpu_with_children_s() -> float:
    """CPU seconds of this process and of all children that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True, slots=True)
class Process:
    """What a program that was run to its end cost, its children included."""

    cpu_s: float
    wall_s: float
    output: str


def run_process(arguments: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Process:
    """Runs a program and raises RuntimeError, with what it wrote, when it fails."""
    began, wall = _children_s(), time.perf_counter()
    done = subprocess.run(
        [str(part) for part in arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    spent = _children_s() - began
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, arguments))} failed ({done.returncode}):\n{done.stderr[-2000:]}")
    return Process(spent, time.perf_counter() - wall, done.stdout)


def median_process(arguments: Sequence[str | Path], tries: int = 5) -> Process:
    """The try of median CPU time, after one that warms the disk cache and writes bytecode."""
    run_process(arguments)
    runs = sorted((run_process(arguments) for _ in range(tries)), key=lambda run: run.cpu_s)
    return runs[tries // 2]


def peak_memory_mb() -> float:
    """The most resident memory this process has had."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux ru_maxrss also counts the parent as it was when it forked
        (peak,) = (line for line in status.read_text("ascii").splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_BYTES / 1e6
