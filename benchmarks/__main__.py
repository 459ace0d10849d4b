"""Runs benchmarks and writes their pages: `python -m benchmarks [NAME ...] [--quick]`.

Each runs in a process of its own, so that none inherits another's memory and a failure stops only itself.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.datasets import Setup, data_folder
from benchmarks.machine import ROOT, describe
from benchmarks.report import write
from veridical.errors import VeridicalError

NAMES = (
    "lexical", "dense", "hybrid", "ingest", "retrieval", "embedder", "quote", "judge", "relevance",
    "verify_speed", "alce", "install",
)  # fmt: skip


def main() -> int:
    options = _parse()
    if len(options.names) == 1 and options.names[0] in NAMES:
        return _run_one(options.names[0], options)
    names = options.names or [name for name in NAMES if name != "alce" or options.public]
    try:
        data_folder()  # one message now rather than one a benchmark
    except VeridicalError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    failed = [name for name in names if _run_apart(name, options)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)}; without a name, all of them")
    parser.add_argument("--quick", action="store_true", help="5,000 passages, to try the scripts; not for docs/results")
    parser.add_argument("--scratch", type=Path, default=Path.home() / ".cache" / "veridical" / "bench")
    parser.add_argument("--out", type=Path, help="where the pages go (default: docs/results; with --quick: scratch)")
    parser.add_argument("--vectors", type=Path, help="for `retrieval`: a folder SET/{corpus,queries_test}.npy")
    parser.add_argument("--public", type=Path, help="for `alce`: the public script's eval.py, utils.py beside it")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if options.out is None:
        options.out = options.scratch / "quick-results" if options.quick else ROOT / "docs" / "results"
    return options


def _run_apart(name: str, options: argparse.Namespace) -> int:
    flags = ["--scratch", options.scratch, "--out", options.out]
    flags += ["--quick"] if options.quick else []
    flags += ["--vectors", options.vectors] if options.vectors else []
    flags += ["--public", options.public] if options.public else []
    return subprocess.run([sys.executable, "-m", "benchmarks", name, *map(str, flags)], check=False).returncode


def _run_one(name: str, options: argparse.Namespace) -> int:
    setup = Setup(options.scratch, options.quick, options.vectors, options.public)
    setup.scratch.mkdir(parents=True, exist_ok=True)
    flags = (["--quick"] if options.quick else []) + (["--vectors", "DIR"] if options.vectors else [])
    flags += ["--public", "eval.py"] if options.public else []
    machine = describe(" ".join(["python -m benchmarks", name, *flags]))
    print(f"{name} …", flush=True)
    began = time.perf_counter()
    try:
        section = importlib.import_module(f"benchmarks.{name}").run(setup)
    except VeridicalError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return error.exit_code
    page = write(replace(section, machine=machine), options.out, NAMES)
    for figure in section.figures:
        value = "—" if figure.value is None else f"{figure.value:.4g} {figure.unit}".rstrip()
        bound = f"{figure.bound} {figure.target:g}" if figure.target is not None else ""
        remark = figure.verdict if figure.value is None else f"{figure.verdict.strip('*')} {figure.note}"
        print(f"  {figure.name}: {value}  {bound} {remark}".rstrip())
    print(f"  {time.perf_counter() - began:.0f} s; {page}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
