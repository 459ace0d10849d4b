"""`demo`: index the bundled documents, ask three questions and check a draft, explaining what is seen."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.cli import exits
from veridical.cli.running import Run
from veridical.errors import ModelUnavailable
from veridical.types import Filter

if TYPE_CHECKING:
    from veridical.blocking import Engine
    from veridical.cli.view import View
    from veridical.types import Answer

FOLDER = ".demo"
_SEARCH = "wind limit for boarding a pilot"
_FOUND = 2
_NAMED = re.compile(r"^\[(\d+)\]: (\S+)$", re.MULTILINE)
_LESSONS = {  # what each kind of question shows
    "page": "The answer stands on one page of a PDF.",
    "contradiction": "Two documents disagree: both are quoted, each with its source.",
    "unanswerable": "No document says, so neither does it.",
}


def demo(run: Run) -> int:
    """Index the bundled documents about an invented island, ask three questions and check a faulty draft."""
    from veridical.sample import corpus_folder

    corpus = corpus_folder()
    index = run.common.index or _writable_folder()
    with run.engine({"index": index}) as engine:
        _index(run.view, engine, corpus)
        answers = [_ask(run.view, engine, kind, question) for kind, question in _questions()]
        answers.append(_check_draft(run.view, engine))
        _search(run.view, engine)
    if run.view.as_json:
        from veridical.serial import answer_to_json

        run.view.json([json.loads(answer_to_json(answer)) for answer in answers])
    _what_next(run.view, index)
    return exits.OK


def _writable_folder() -> str:
    """A folder here, so that the second run finds it; a temporary one where nothing can be written."""
    import tempfile

    if os.access(Path.cwd(), os.W_OK):
        return FOLDER
    return str(Path(tempfile.gettempdir()) / f"veridical{FOLDER}-{os.getuid() if hasattr(os, 'getuid') else 'user'}")


def _questions() -> list[tuple[str, str]]:
    """(kind, question) of those marked for the demo, in their order."""
    from veridical.sample import questions_file

    rows = [json.loads(line) for line in questions_file().read_text(encoding="utf-8").splitlines() if line.strip()]
    marked = sorted((row["demo"], row["kind"], row["question"]) for row in rows if row.get("demo"))
    return [(kind, question) for _, kind, question in marked]


def _index(view: View, engine: Engine, corpus: Path) -> None:
    from veridical.cli.progress import ingest_progress
    from veridical.cli.render import legend, seconds

    files = [file for file in corpus.rglob("*") if file.is_file()]
    if not files:
        raise ModelUnavailable(f"the sample documents are missing from {corpus}", fix="reinstall the package")
    formats = Counter(file.suffix.lstrip(".") for file in files)
    view.heading(f"{len(files)} documents about an island that does not exist (no model knows it by heart)")
    many = [f"{number} {name}" for name, number in formats.most_common() if number > 1]
    single = sorted(name for name, number in formats.items() if number == 1)
    view.line(f"{', '.join(many)} and {', '.join(single)}", "dim")
    with ingest_progress(view) as on_progress:
        report = engine.add(corpus, on_progress=on_progress)
    done = (
        f"{report.passages:,} passages indexed" if report.added or report.updated else "Already indexed, looked through"
    )
    view.line(f"{done} in {seconds(report.seconds)}.", "dim")
    view.line(f"Each sentence is checked:  {legend()}", "dim")


def _ask(view: View, engine: Engine, kind: str, question: str) -> Answer:
    from rich.text import Text

    from veridical.cli.answering import Manner, present
    from veridical.cli.progress import question_steps

    view.line()
    if kind in _LESSONS:
        view.hang("# ", _LESSONS[kind], "italic dim")
    view.hang(Text("$ ", style="dim"), f'veridical ask -i {engine.settings.index} "{question}"', "bold")
    with question_steps(view) as steps:
        answer = engine.ask(question, sinks=(steps,))
    present(view, engine, answer, f" -i {engine.settings.index}", Manner(nearest=1))
    return answer


def _check_draft(view: View, engine: Engine) -> Answer:
    """A draft with faults, checked against the passages it names; every verdict is the judge's own."""
    from veridical.cli.progress import question_steps
    from veridical.cli.render import show_answer
    from veridical.sample import draft_file
    from veridical.verification import repair_marks

    text, sources = read_draft(draft_file().read_text(encoding="utf-8"))
    passages = [engine.search(text, 1, Filter(path=path))[0] for path in sources]
    view.line()
    view.hang(
        "# ", "A draft with faults: what its sources do not say is struck, a wrong citation repaired.", "italic dim"
    )
    with question_steps(view) as steps:
        answer = engine.verify(text, passages, sinks=(steps,))
    mended, claims = repair_marks(answer.text, answer.claims, passages)
    answer = replace(answer, text=mended, claims=claims)
    show_answer(view, answer)
    return answer


def read_draft(text: str) -> tuple[str, list[str]]:
    """The draft itself, and the paths below the sample that its marks 1, 2, 3 … mean."""
    named = sorted((int(number), path) for number, path in _NAMED.findall(text))
    return _NAMED.sub("", text).strip(), [path for _, path in named]


def _search(view: View, engine: Engine) -> None:
    from rich.text import Text

    from veridical.cli.render import show_passages

    view.line()
    view.hang(Text("$ ", style="dim"), f'veridical search -i {engine.settings.index} "{_SEARCH}" -k {_FOUND}', "bold")
    show_passages(view, engine.search(_SEARCH, _FOUND), _SEARCH, 120)


def _activation() -> list[tuple[str, str]]:
    """The line that puts `veridical` on the path, for those who came by `make demo`."""
    activate = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("veridical") or not activate.is_file():
        return []
    return [(f". {os.path.relpath(activate)}", "so that `veridical` is found")]


def _what_next(view: View, index: str) -> None:
    view.line()
    view.heading("What to try next")
    for command, why in (
        *_activation(),
        (f"veridical chat -i {index}", "ask this island more"),
        ("veridical add FOLDER", "index your own documents, then ask them"),
        ("veridical verify FILE", "check a text of your own, sentence by sentence"),
        ("veridical model pull smollm2", "a small language model, for --llm smollm2"),
        ("veridical doctor", "what is here, what is missing"),
    ):
        view.hang(f"  {command:<30} ", why)
