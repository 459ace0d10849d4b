"""`demo`: index the bundled documents and ask three questions, explaining what is seen."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.cli import exits
from veridical.cli.running import Run
from veridical.errors import ModelUnavailable

if TYPE_CHECKING:
    from veridical.blocking import Engine
    from veridical.cli.view import View
    from veridical.types import Answer

FOLDER = ".demo"
_SEARCH = "wind limit for boarding a pilot"
_FOUND = 2


def demo(run: Run) -> int:
    """Index the bundled documents about an invented island and ask three questions."""
    from veridical.sample import corpus_folder

    corpus = corpus_folder()
    index = run.common.index or _writable_folder()
    with run.engine({"index": index}) as engine:
        _index(run.view, engine, corpus)
        answers = [_ask(run.view, engine, question) for question in _questions()]
        _search(run.view, engine)
    if run.view.as_json:
        from veridical.serial import answer_to_json

        run.view.json([json.loads(answer_to_json(answer)) for answer in answers])
    _what_next(run.view, index)
    return exits.OK


def _writable_folder() -> str:
    """A folder here, so that the second run finds it; a temporary one where nothing can be written."""
    import os
    import tempfile

    if os.access(Path.cwd(), os.W_OK):
        return FOLDER
    return str(Path(tempfile.gettempdir()) / f"veridical{FOLDER}-{os.getuid() if hasattr(os, 'getuid') else 'user'}")


def _questions() -> list[str]:
    """The questions marked for the demo, in their order."""
    from veridical.sample import questions_file

    rows = [json.loads(line) for line in questions_file().read_text(encoding="utf-8").splitlines() if line.strip()]
    marked = sorted((row["demo"], row["question"]) for row in rows if row.get("demo"))
    return [question for _, question in marked]


def _index(view: View, engine: Engine, corpus: Path) -> None:
    from veridical.cli.progress import ingest_progress
    from veridical.cli.render import legend, seconds

    files = [file for file in corpus.rglob("*") if file.is_file()]
    if not files:
        raise ModelUnavailable(f"the sample documents are missing from {corpus}", fix="reinstall the package")
    formats = Counter(file.suffix.lstrip(".") for file in files)
    view.heading(f"{len(files)} documents about an island that does not exist, so that no model knows it by heart")
    view.line(", ".join(f"{number} {name}" for name, number in formats.most_common()), "dim")
    with ingest_progress(view) as on_progress:
        report = (
            engine.sync(corpus, on_progress=on_progress)
            if _known(engine)
            else engine.add(corpus, on_progress=on_progress)
        )
    done = f"{report.passages:,} passages indexed" if report.added or report.updated else "Already indexed"
    view.line(f"{done} in {seconds(report.seconds)}.", "dim")
    view.line(f"Each sentence of an answer is checked against its source:  {legend()}", "dim")


def _known(engine: Engine) -> bool:
    return Path(engine.settings.index).exists()


def _ask(view: View, engine: Engine, question: str) -> Answer:
    from rich.text import Text

    from veridical.cli.progress import question_steps
    from veridical.cli.work import present

    view.line()
    view.line(Text.assemble(("$ ", "dim"), ("veridical ask ", "bold"), (f'"{question}"', "bold")))
    with question_steps(view) as steps:
        answer = engine.ask(question, sinks=(steps,))
    present(view, engine, answer, f" -i {engine.settings.index}")
    return answer


def _search(view: View, engine: Engine) -> None:
    from rich.text import Text

    from veridical.cli.render import show_passages

    view.line()
    view.line(Text.assemble(("$ ", "dim"), ("veridical search ", "bold"), (f'"{_SEARCH}" -k {_FOUND}', "bold")))
    show_passages(view, engine.search(_SEARCH, _FOUND), _SEARCH)


def _what_next(view: View, index: str) -> None:
    view.line()
    view.heading("What to try next")
    for command, why in (
        (f"veridical chat -i {index}", "ask this island more"),
        ("veridical add FOLDER", "index your own documents, then: veridical ask '…'"),
        ("veridical model pull smollm2", "a small language model that writes, for --llm smollm2"),
        ("veridical doctor", "what is here, what is missing"),
    ):
        view.line(f"  {command:<30} {why}")
