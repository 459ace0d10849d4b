"""An answer as `ask`, `chat` and `demo` show it: with its sources, or with what comes nearest to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.cli.printable import query_words, snippet
from veridical.cli.render import open_hint, show_answer, show_source
from veridical.types import Answer, Claim, Status

if TYPE_CHECKING:
    from veridical.blocking import Engine
    from veridical.cli.view import View
    from veridical.settings import Settings


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


def explain_unchecked(settings: Settings, claims: Sequence[Claim]) -> None:
    """Raises the judge's own error when that is why claims were not checked: no property of a text, nor of an answer.

    A judge that answers now, or one that declines to read them, is no error.
    """
    unchecked = [claim for claim in claims if claim.verdict.reason.startswith("not checked")]
    if not unchecked:
        return
    from veridical.cli.verify_pairs import opened_judge, probe

    with opened_judge(settings) as (runner, judge, _):
        if not all(judge.declines(claim.text) for claim in unchecked):
            runner.run(probe(judge))


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
