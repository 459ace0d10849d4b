"""A kit of fakes for tests of methods and verbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from veridical.budget import Budget, Meter
from veridical.events import Event, Trace
from veridical.kit import Kit
from veridical.models.fake import FakeGenerator, FakeRetriever
from veridical.models.verbatim import Verbatim
from veridical.ports import Judge, Writer
from veridical.types import Passage, Span

BRIDGE = "The bridge opened in 1913. It has five arches."
LIGHT = "The lighthouse is older than the bridge. Nobody lives there now."


def passage(number: int, text: str, title: str = "") -> Passage:
    span = Span(100, 100 + len(text))
    return Passage(f"d{number}:0", f"d{number}", text, span, title, f"/docs/{number}.md", page=number)


PASSAGES = (passage(1, BRIDGE, "Bridges"), passage(2, LIGHT, "Lights"))


def make_kit(
    script: Mapping[str, str] | None = None,
    *,
    passages: Sequence[Passage] = PASSAGES,
    writer: Writer | None = None,
    judge: Judge | None = None,
    budget: Budget | None = None,
    seen: list[Event] | None = None,
) -> Kit:
    return Kit(
        trace=Trace([seen.append] if seen is not None else []),
        meter=Meter(budget or Budget()),
        judge=judge or Verbatim(),
        retriever=FakeRetriever(passages),
        generator=FakeGenerator(script) if script is not None else None,
        writer=writer,
    )
