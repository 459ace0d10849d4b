"""`doctor`: what is here, what is missing, and the command that mends it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.cli import exits
from veridical.cli.running import Run
from veridical.errors import IndexMissing, VeridicalError

if TYPE_CHECKING:
    from veridical.settings import Settings

_PACKAGES = ("numpy", "onnxruntime", "tokenizers", "tantivy", "pypdfium2", "lxml", "httpx2")
_LEAST_FREE = 500_000_000  # bytes; a pulled model or an index of some size needs about that
_SHOWN = 4  # models of a server that are named


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `state`: ok, missing (doctor fails), or optional."""

    what: str
    state: str
    detail: str
    fix: str = ""


Look = Callable[[Run, "Settings"], Iterator[Finding]]


def doctor(run: Run) -> int:
    """Look at the installation, the index and the models, and say how to mend what is missing."""
    settings = run.load().settings
    findings = [finding for look in LOOKS for finding in look(run, settings)]
    usable = all(finding.state != "missing" for finding in findings)
    if run.view.as_json:
        run.view.json({"usable": usable, "findings": findings})
    else:
        _show(run, findings)
        run.view.line()
        run.view.line("All that is needed is here." if usable else "Something needed is missing: see → above.", "bold")
    return exits.OK if usable else exits.NOT_USABLE


def _show(run: Run, findings: list[Finding]) -> None:
    from rich.text import Text

    marks = {
        "ok": Text("✓ ", style="bold green"),
        "missing": Text("✗ ", style="bold red"),
        "optional": Text("· ", style="dim"),
    }
    for finding in findings:
        run.view.hang(marks[finding.state], f"{finding.what}: {finding.detail}")
        if finding.fix:
            run.view.hang(Text("  → ", style="bold"), finding.fix)


def look_at_python(_run: Run, _settings: Settings) -> Iterator[Finding]:
    found = ".".join(map(str, sys.version_info[:3]))
    known = (3, 11) <= sys.version_info[:2] <= (3, 13)
    fix = "" if known else "use Python 3.11, 3.12 or 3.13: make PYTHON=python3.12 demo"
    yield Finding("Python", "ok" if known else "missing", found, fix)


def look_at_packages(_run: Run, _settings: Settings) -> Iterator[Finding]:
    from importlib.metadata import PackageNotFoundError, version  # it brings the e-mail package along

    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    yield Finding("packages", "ok", ", ".join(found))
    if missing:
        yield Finding("packages", "missing", f"not installed: {', '.join(missing)}", f"pip install {' '.join(missing)}")


def look_at_weights(_run: Run, _settings: Settings) -> Iterator[Finding]:
    from veridical.models.embed import MiniLm

    try:
        MiniLm().verify_weights()
    except VeridicalError as error:
        yield Finding("embedder", "missing", error.message, error.fix)
    else:
        yield Finding("embedder", "ok", "minilm, weights as built")


def look_at_judge(_run: Run, settings: Settings) -> Iterator[Finding]:
    """The judge that ships, by the SHA-256 of every file; without it nothing is verified unless another is set."""
    from veridical.models.cross_encoder import CrossEncoder

    judge = settings.verify.judge
    try:
        CrossEncoder().verify_weights()
    except VeridicalError as error:
        yield Finding("judge", "missing" if judge == "local" else "optional", error.message, error.fix)
    else:
        yield Finding("judge", "ok", "local, weights as built (SHA-256)" + ("" if judge == "local" else ", not in use"))
    if judge != "local":
        yield Finding("judge", "ok", f"{judge} is set in verify.judge")


def look_at_index(run: Run, settings: Settings) -> Iterator[Finding]:
    from veridical.cli.render import count

    try:
        with run.engine() as engine:
            stats = engine.stats()
    except IndexMissing as error:
        yield Finding("index", "optional", error.message, f"veridical add FOLDER{run.again}")
    except VeridicalError as error:
        yield Finding("index", "missing", error.message, error.fix)
    else:
        held = f"{settings.index}: {count(stats.documents, 'document')}, {count(stats.passages, 'passage')}"
        yield Finding("index", "ok", held)
        if stats.partial_sources:
            yield Finding(
                "index",
                "optional",
                f"{count(stats.partial_sources, 'source')} not finished",
                f"veridical sync{run.again}",
            )


def look_at_disk(_run: Run, settings: Settings) -> Iterator[Finding]:
    from veridical.cli.render import size

    folder = Path(settings.index).absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    enough = free >= _LEAST_FREE
    yield Finding("disk", "ok" if enough else "optional", f"{size(free)} free", "" if enough else "free some space")


def look_at_extras(_run: Run, _settings: Settings) -> Iterator[Finding]:
    local = find_spec("xllamacpp") is not None or find_spec("llama_cpp") is not None
    for extra, here, use in (
        ("local", local, "language models in this process"),
        ("ocr", find_spec("rapidocr") is not None, "pages of a PDF that are pictures, with read.ocr"),
        ("web", find_spec("trafilatura") is not None, "the main text of web pages by trafilatura"),
    ):
        fix = "" if here else f"pip install 'veridical[{extra}]'"
        yield Finding(f"extra {extra}", "ok" if here else "optional", use if here else f"not installed ({use})", fix)


def look_at_models(_run: Run, settings: Settings) -> Iterator[Finding]:
    from veridical.models.pull import installed

    here = installed(settings.home)
    if here:
        yield Finding("pulled models", "ok", ", ".join(here))
    else:
        yield Finding("pulled models", "optional", "none (`quote` answers without one)", "veridical model pull smollm2")


def look_at_servers(_run: Run, _settings: Settings) -> Iterator[Finding]:
    import asyncio

    from veridical.models.discover import discover

    found = asyncio.run(discover())
    for server in found:
        names = ", ".join(server.models[:_SHOWN]) or "no models loaded"
        model = server.models[0] if server.models else "MODEL"
        use = f"veridical ask 'your question' --llm openai:{model} --set openai.base_url={server.base_url}"
        yield Finding("server", "ok", f"{server.kind} at {server.base_url}: {names}", use)
    if not found:
        yield Finding("server", "optional", "no language-model server found on this machine")


LOOKS: tuple[Look, ...] = (
    look_at_python,
    look_at_packages,
    look_at_weights,
    look_at_judge,
    look_at_index,
    look_at_disk,
    look_at_extras,
    look_at_models,
    look_at_servers,
)
