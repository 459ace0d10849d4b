"""The commands that do the work: ask and methods; `search` and `chat` have files of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.cli import exits
from veridical.cli.chat import chat
from veridical.cli.options import Where, Writing, read_text
from veridical.cli.running import Run, add_command
from veridical.cli.searching import search
from veridical.errors import ConfigError
from veridical.types import Answer, Status

if TYPE_CHECKING:
    from veridical.blocking import Engine
    from veridical.cli.view import View
    from veridical.events import Sink

PANEL = "The work"


class Show(StrEnum):
    PASSAGES = "passages"


@dataclass(frozen=True, slots=True)
class Also:
    """What `ask` tells beside the answer."""

    trace: Annotated[Path | None, typer.Option("--trace", metavar="FILE", help="Write every event as JSON Lines.")] = (
        None
    )
    show: Annotated[Show | None, typer.Option("--show", metavar="passages", help="Also print what was read.")] = None
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also scores, evidence, and a draft that was withheld.")
    ] = False


def register(app: typer.Typer) -> None:
    add_command(app, ask, example="veridical ask 'Who keeps the light?' --path 'reports/*'", panel=PANEL)
    add_command(app, chat, example="veridical chat --llm smollm2", panel=PANEL)
    add_command(app, search, example="veridical search 'harbour dues' -k 3 --type pdf", panel=PANEL)
    add_command(app, methods, example="veridical methods", panel=PANEL)


def ask(
    run: Run,
    where: Where,
    writing: Writing,
    also: Also,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question; - reads it from stdin.")],
) -> int:
    """Answer a question from the documents, every sentence with its source and its verdict.

    ✓ supported by the passage it cites, ✗ contradicted, ? unverified; what is not supported is struck.
    """
    from veridical.cli.answering import Manner, explain_unchecked, present
    from veridical.cli.progress import question_steps

    text = read_text(question)
    with run.engine(writing.flags()) as engine:
        with _trace_to(also.trace) as sinks, question_steps(run.view) as steps:
            answer = engine.ask(text, where=where.filter(), sinks=(steps, *sinks))
        explain_unchecked(engine.settings, answer.claims)
        if run.view.as_json:
            from veridical.serial import answer_to_json

            run.view.json(answer_to_json(answer, indent=2))
        else:
            present(run.view, engine, answer, run.again, Manner(verbose=also.verbose))
            if also.show is Show.PASSAGES:
                _show_read(run.view, engine, answer)
    return exits.ABSTAINED if answer.status is Status.ABSTAINED else exits.OK


@contextmanager
def _trace_to(file: Path | None) -> Iterator[tuple[Sink, ...]]:
    from veridical.events import write_jsonl

    if file is None:
        yield ()
        return
    try:
        stream = file.open("w", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--trace {file} cannot be written: {error}", fix="name a file you may write") from None
    with stream:
        yield (write_jsonl(stream),)


def _show_read(view: View, engine: Engine, answer: Answer) -> None:
    from veridical.cli.printable import printable
    from veridical.cli.render import show_source

    for source in answer.sources:
        view.line()
        show_source(view, source, source.span)
        document = engine.document(source.document_id)
        if document is not None:
            view.hang("    ", printable(source.span.of(document.text)))


def methods(run: Run) -> int:
    """List the ways to answer a question, and their fields."""
    from veridical.methods.registry import describe_methods

    described = describe_methods()
    if run.view.as_json:
        run.view.json(described)
    else:
        run.view.table(
            ("method", "what it does", "fields"),
            [(method.name, method.summary, ", ".join(method.fields)) for method in described],
        )
    return exits.OK
