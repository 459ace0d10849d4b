"""What an installation costs: packages, megabytes, and the CPU time of importing and of `--help`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.datasets import Setup
from benchmarks.machine import ROOT
from benchmarks.report import AT_MOST, Figure, Section, Table
from benchmarks.timing import median_process

_EXTRAS = ("local", "ocr", "web", "server", "bench", "dev")
_TOOLS = {"pip", "setuptools", "wheel"}  # come with the environment, not with the package


def run(setup: Setup) -> Section:
    venv = setup.scratch / "install-venv"
    shutil.rmtree(venv, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    failure = _install(venv, str(ROOT))
    if failure:
        raise RuntimeError(f"the core cannot be installed: {failure}")
    packages, size_mb = _packages(venv), _size_mb(venv)
    figures = (
        Figure("packages of the core", len(packages), "", AT_MOST, 60),
        Figure("size of the core, weights included", size_mb, "MB", AT_MOST, 450),
        *_starts(venv),
    )
    rows = [_extra(venv, extra, packages, size_mb) for extra in (() if setup.quick else _EXTRAS)]
    shutil.rmtree(venv)
    return Section(
        name="install",
        title="Installation",
        page="install",
        how="A fresh virtual environment and `pip install .`; all files of its site-packages but pip's, with bytecode.",
        figures=figures,
        tables=(Table(("extra", "more packages", "more MB"), tuple(rows)),) if rows else (),
        notes=(
            "CPU time is that of the whole process, median of five after a first one; the interpreter alone is listed.",
            "The `train` extra brings torch, some gigabytes, and is not installed here.",
        ),
    )


def _install(venv: Path, what: str) -> str:
    """Why it failed; empty when it did not."""
    done = subprocess.run(
        [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what],
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return (errors or [done.stderr[-300:]])[-1] if done.returncode else ""


def _packages(venv: Path) -> set[str]:
    done = subprocess.run(
        [str(venv / "bin" / "python"), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {entry["name"].lower() for entry in json.loads(done.stdout)} - _TOOLS


def _size_mb(venv: Path) -> float:
    (site,) = venv.glob("lib/python3*/site-packages")
    files = (file for file in site.rglob("*") if file.relative_to(site).parts[0].split("-")[0] not in _TOOLS)
    return sum(file.lstat().st_size for file in files if file.is_file() and not file.is_symlink()) / 1e6


def _starts(venv: Path) -> list[Figure]:
    python, command = venv / "bin" / "python", venv / "bin" / "veridical"
    commands: dict[str, list[str | Path]] = {
        "python -c pass": [python, "-c", "pass"],
        "import veridical": [python, "-c", "import veridical"],
        "from veridical import Engine": [python, "-c", "from veridical import Engine"],
        "veridical --help": [command, "--help"],
    }
    targets = {"import veridical": 0.3, "veridical --help": 0.5}
    return [
        Figure(name, median_process(arguments).cpu_s, "s CPU", AT_MOST if name in targets else "", targets.get(name))
        for name, arguments in commands.items()
    ]


def _extra(venv: Path, extra: str, core: set[str], core_mb: float) -> tuple[str, str, str]:
    """Installs the extra into the core's environment, measures, and takes it out again."""
    failure = _install(venv, f"{ROOT}[{extra}]")
    more, more_mb = _packages(venv) - core, _size_mb(venv) - core_mb
    if more:
        remove = [str(venv / "bin" / "python"), "-m", "pip", "uninstall", "--yes", "--quiet", *sorted(more)]
        subprocess.run(remove, check=True, capture_output=True)
    if failure:
        return (extra, "—", f"not measured: {failure}")
    return (extra, f"{len(more):,}", f"{more_mb:,.0f}")
