"""`chat`: one question after another, each understood in the light of those before."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from veridical.cli import exits
from veridical.cli.options import Where, Writing
from veridical.cli.running import Run
from veridical.errors import BudgetExceeded, InputRefused, ModelOutputInvalid, ModelUnavailable

if TYPE_CHECKING:
    from veridical.blocking import Engine
    from veridical.methods.condense import Turn
    from veridical.types import Answer, Filter

_PROMPT = "› "
_COMMANDS = "/sources lists the last answer's passages, /clear forgets the talk, /quit leaves"


def chat(run: Run, where: Where, writing: Writing) -> int:
    """Ask one question after another; a follow-up is understood in the light of what came before."""
    with run.engine(writing.flags()) as engine:
        talk = _Talk(run, engine, where.filter())
        if sys.stdin.isatty():
            run.view.note(_COMMANDS)
        for line in _lines(run):
            if line == "/quit":
                break
            talk.take(line)
    return exits.OK


def _lines(run: Run) -> Iterator[str]:
    """What the person types, without empty lines, until the end of input."""
    at_terminal = sys.stdin.isatty() and run.view.fancy
    if at_terminal:
        # Importing it is what gives `input` its line editing and its history; some builds lack it.
        from contextlib import suppress

        with suppress(ImportError):
            import readline  # noqa: F401
    while True:
        try:
            line = input(_PROMPT) if at_terminal else sys.stdin.readline()
        except EOFError:
            run.view.line()
            return
        if not line and not at_terminal:
            return
        if line.strip():
            yield line.strip()


class _Talk:
    """The turns so far and the last answer."""

    def __init__(self, run: Run, engine: Engine, where: Filter | None) -> None:
        self._run = run
        self._view = run.view
        self._engine = engine
        self._where = where
        self._turns: list[Turn] = []
        self._last: Answer | None = None

    def take(self, line: str) -> None:
        if line == "/clear":
            self._turns.clear()
            self._last = None
            self._view.note("forgotten")
        elif line == "/sources":
            self._sources()
        elif line.startswith("/"):
            self._view.note(_COMMANDS)
        else:
            self._ask(line)

    def _ask(self, question: str) -> None:
        from veridical.cli.answering import explain_unchecked, present
        from veridical.cli.progress import question_steps
        from veridical.methods.condense import Turn

        try:
            with question_steps(self._view) as steps:
                answer = self._engine.ask(question, where=self._where, history=tuple(self._turns), sinks=(steps,))
            explain_unchecked(self._engine.settings, answer.claims)
        except (InputRefused, BudgetExceeded, ModelOutputInvalid, ModelUnavailable) as error:
            self._view.failure(error)  # this question's fault, or a server's that may be back for the next
            return
        if self._view.as_json:
            from veridical.serial import answer_to_json

            self._view.json(answer_to_json(answer))
        else:
            if answer.question != question:
                self._view.line(f"understood as: {answer.question}", "dim")
            present(self._view, self._engine, answer, self._run.again)
            self._view.line()
        # The question as it was understood, so that a follow-up to a follow-up still knows the subject.
        self._turns.append(Turn(answer.question, answer.text))
        self._last = answer

    def _sources(self) -> None:
        from veridical.cli.render import show_source

        if self._last is None or not self._last.sources:
            self._view.note("there are no sources yet")
            return
        for source in self._last.sources:
            show_source(self._view, source, source.span)
