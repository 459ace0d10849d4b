"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("numpy", "tantivy", "numkong", "onnxruntime", "tokenizers", "llama-index-core", "bm25s")


def describe(command: str) -> dict[str, str]:
    """Date, commit, processor, versions and load; the keys are printed as they stand."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "processor": f"{_processor()}, {os.cpu_count()} cores, {_memory_gb():.0f} GB memory, {platform.system()}",
        "load": f"{os.getloadavg()[0]:.1f} when it began",
        "versions": ", ".join(_versions()),
        "command": command,
    }


def _commit() -> str:
    commit = _output(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]) or "unknown"
    changed = _output(["git", "-C", str(ROOT), "status", "--porcelain", "--", "src", "benchmarks", "pyproject.toml"])
    return f"{commit} with uncommitted changes" if changed else commit


def _processor() -> str:
    if sys.platform == "darwin":
        return _output(["sysctl", "-n", "machdep.cpu.brand_string"]) or platform.machine()
    for line in _output(["lscpu"]).splitlines():
        if line.startswith("Model name:"):
            return f"{line.partition(':')[2].strip()} ({platform.machine()})"
    return platform.processor() or platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def _versions() -> list[str]:
    found = [f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    for package in ("veridical", *_PACKAGES):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return found


def _output(arguments: list[str]) -> str:
    try:
        return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
