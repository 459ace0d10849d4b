"""An answer as `ask`, `chat` and `demo` show it: with its sources, or with what comes nearest to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.cli.printable import query_words, snippet
from veridical.cli.render import open_hint, show_answer, show_source
from veridical.types import Answer, Status

if TYPE_CHECKING:
    from veridical.blocking import Engine
    from veridical.cli.view import View


@dataclass(frozen=True, slots=True)
class Manner:
    """How much is said: passages offered when there is no answer, and whether scores and withheld drafts are shown."""

    nearest: int = 3
    verbose: bool = False


def present(view: View, engine: Engine, answer: Answer, again: str = "", manner: Manner | None = None) -> None:
    """The answer, its sources and how to open the first; or why there is none, and what comes nearest."""
    manner = manner or Manner()
    show_answer(view, answer, verbose=manner.verbose)
    if answer.status is Status.ABSTAINED:
        _show_nearest(view, engine, answer, manner.nearest)
    elif (hint := open_hint(answer, again)) and not view.quiet:
        view.hang("    ", hint, "dim")


def _show_nearest(view: View, engine: Engine, answer: Answer, most: int) -> None:
    if view.quiet or not answer.sources:
        return
    view.line()
    view.line("What comes nearest:", "dim")
    for source in answer.sources[:most]:
        show_source(view, source, source.span)
        document = engine.document(source.document_id)
        if document is not None:
            view.hang("    ", snippet(source.span.of(document.text), query_words(answer.question), 160), "dim")
