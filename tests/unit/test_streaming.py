"""Sentences are checked while the rest is still being written, in order, and nothing outlives the writing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from unit.kits import make_kit
from veridical.budget import Budget
from veridical.cli.progress import Steps
from veridical.errors import BudgetExceeded, ModelUnavailable
from veridical.events import Decided, Event, Pending, Token, Trace, to_json
from veridical.kit import Kit
from veridical.methods.rag import Rag
from veridical.models.fake import FakeWriter
from veridical.models.verbatim import Verbatim
from veridical.streaming import Growing
from veridical.text.sentences import sentence_spans, split_sentences
from veridical.types import Answer, Chunk, Entailment, Label, Prompt, Sampling, Span

QUESTION = "When was the bridge opened?"
REPLY = "The bridge opened in 1913. [1] It has twelve arches [1]. Nobody lives there now. [2]"


def ask(kit: Kit) -> Answer:
    """The answer, once it is sure that no task was left behind."""

    async def main() -> Answer:
        try:
            return await Rag()(kit, QUESTION)
        finally:
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(main())


# ── sentences of a text that grows ───────────────────────────────────────────────────────────────

TEXTS = [
    REPLY,
    "Dr. Quill paid 3.5 crowns on 4 Jan. 1862 [1][2]. He left. [3]",
    "The works burned down. [1, 2] [3]\n\nNobody was hurt [4].",
    "Three things:\n- the lamp [1]\n- the bell. [2]\n- the boat [3]",
    "He said “No.” [1] Then he left (in 1913). [2] And came back …",
    "[Sic] It was so. [1] [The editor agrees.] It was.",
    "no punctuation whatsoever and no marks",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_in_whatever_pieces_a_text_comes_its_sentences_are_the_same(text: str, size: int) -> None:
    growing = Growing()
    found = [s for start in range(0, len(text), size) for s in growing.add(text[start : start + size])]
    found += growing.rest()
    assert [sentence for _, sentence in found] == split_sentences(text)
    assert all(text[offset:].startswith(sentence) for offset, sentence in found)


def test_a_sentence_waits_for_the_marks_behind_its_full_stop() -> None:
    growing = Growing()
    assert growing.add("It fell. ") == []
    assert growing.add("[") == []
    assert growing.add("1") == []
    assert growing.add("]") == []
    assert growing.add("[2] ") == []
    assert growing.add("Th") == [(0, "It fell. [1][2]")]
    assert growing.add("en it rose.") == []
    assert growing.rest() == [(16, "Then it rose.")]


def test_a_long_text_without_an_end_is_not_read_again_for_every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def counting(text: str, language: str = "en") -> list[Span]:
        nonlocal read
        read += len(text)
        return sentence_spans(text, language)

    monkeypatch.setattr("veridical.streaming.sentence_spans", counting)
    for word in ("word ", "a.b ", "x;\n"):
        read, growing = 0, Growing()
        for _ in range(4_000):
            growing.add(word)
        whole = word * 4_000
        assert [sentence for _, sentence in growing.rest()] == split_sentences(whole)
        assert read < 100 * len(whole)


def test_a_sentence_is_known_as_soon_as_the_next_begins() -> None:
    growing = Growing()
    words = ["It ", "fell ", "(in ", "May). ", "Then ", "it ", "rose", ".\n", "\n", "- ", "The ", "end"]
    found = {n: growing.add(word) for n, word in enumerate(words)}
    assert {n: taken[0][1] for n, taken in found.items() if taken} == {4: "It fell (in May).", 10: "Then it rose."}


# ── checked while it is written ──────────────────────────────────────────────────────────────────


def events(reply: str = REPLY, **kit: object) -> list[Event]:
    seen: list[Event] = []
    ask(make_kit({"answer_cited": reply}, seen=seen, **kit))  # type: ignore[arg-type]
    return seen


def test_each_sentence_is_pending_then_decided_in_order() -> None:
    seen = [event for event in events() if isinstance(event, (Pending, Decided))]
    numbers = [(type(event).__name__, event.number) for event in seen]
    assert sorted(numbers, key=lambda one: (one[1], one[0] == "Decided")) == [
        (name, n) for n in (1, 2, 3) for name in ("Pending", "Decided")
    ]
    for kind in (Pending, Decided):
        assert [event.number for event in seen if isinstance(event, kind)] == [1, 2, 3]
    assert all(numbers.index(("Pending", n)) < numbers.index(("Decided", n)) for n in (1, 2, 3))
    labels = [event.claim.verdict.label for event in seen if isinstance(event, Decided)]
    assert labels == [Label.SUPPORTED, Label.UNVERIFIED, Label.SUPPORTED]


def test_a_verdict_comes_before_the_writing_ends() -> None:
    seen = events()
    first = next(n for n, event in enumerate(seen) if isinstance(event, Decided))
    last = max(n for n, event in enumerate(seen) if isinstance(event, Token))
    assert first < last


def test_what_is_decided_is_where_it_stands_in_the_draft_and_goes_to_json() -> None:
    decided = [event for event in events() if isinstance(event, Decided)]
    assert [event.claim.span.of(REPLY) for event in decided] == split_sentences(REPLY)
    row = json.loads(json.dumps(to_json(decided[0])))
    assert (row["event"], row["number"], row["claim"]["verdict"]["label"]) == ("decided", 1, "supported")
    assert row["claim"]["span"] == [0, 30]


def test_a_writer_gives_the_same_events() -> None:
    seen: list[Event] = []
    ask(make_kit(writer=FakeWriter(), seen=seen))
    shown = [event for event in seen if isinstance(event, (Pending, Decided))]
    assert [type(event) for event in shown] == [Pending, Decided]
    assert isinstance(shown[0], Pending)
    assert shown[0].text == "The bridge opened in 1913. [1]"


def test_not_knowing_is_no_sentence_to_check() -> None:
    assert not [event for event in events("I don't know. Ask someone else.") if isinstance(event, (Pending, Decided))]


def test_the_judge_is_asked_for_what_waits_at_once() -> None:
    batches: list[int] = []

    class Counting(Verbatim):
        async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
            batches.append(len({claim for _, claim in pairs}))
            return await super().entail(pairs)

    seen: list[Event] = []

    class Writer:
        async def write(self, question: str, passages: object) -> object:
            from veridical.types import Draft

            return Draft(REPLY, tuple(passages))  # type: ignore[arg-type]

    ask(make_kit(writer=Writer(), judge=Counting(), seen=seen))  # type: ignore[arg-type]
    assert batches[0] == 3


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────


class Down(Verbatim):
    async def entail(self, pairs: object) -> Sequence[Entailment]:
        raise ModelUnavailable("judge down", fix="start it")


class Hanging(Verbatim):
    async def entail(self, pairs: object) -> Sequence[Entailment]:
        await asyncio.sleep(60)
        return []


def test_a_judge_that_is_down_decides_nothing_in_favour() -> None:
    decided = [event for event in events(judge=Down()) if isinstance(event, Decided)]
    assert {event.claim.verdict.label for event in decided} == {Label.UNVERIFIED}
    assert len(decided) == 3
    assert "judge down" in decided[0].claim.verdict.reason


def test_a_judge_that_hangs_ends_with_the_budget() -> None:
    with pytest.raises(BudgetExceeded, match="seconds"):
        ask(make_kit({"answer_cited": REPLY}, judge=Hanging(), budget=Budget(seconds=0.05)))


def test_a_model_that_fails_halfway_fails_as_itself() -> None:
    class Halfway:
        async def stream(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Chunk]:
            yield Chunk("The bridge opened in 1913. [1] It ")
            await asyncio.sleep(0)
            raise ModelUnavailable("server gone", fix="start it")

    with pytest.raises(ModelUnavailable, match="server gone"):
        ask(replace(make_kit({}, judge=Hanging()), generator=Halfway()))


def test_who_leaves_takes_the_checking_along() -> None:
    async def main() -> None:
        asking = asyncio.create_task(Rag()(make_kit({"answer_cited": REPLY}, judge=Hanging()), QUESTION))
        await asyncio.sleep(0.02)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


@pytest.mark.parametrize("kind", [Pending, Decided])
def test_a_sink_that_raises_stops_the_work_it_watches(kind: type[Event]) -> None:
    def sink(event: Event) -> None:
        if isinstance(event, kind):
            raise BrokenPipeError("nobody reads")

    with pytest.raises(BrokenPipeError):
        ask(replace(make_kit({"answer_cited": REPLY}), trace=Trace([sink])))


# ── what a person sees meanwhile ─────────────────────────────────────────────────────────────────


def test_a_sentence_is_dim_until_its_verdict_stands_in_the_gutter() -> None:
    from rich.console import Console

    def shown(steps: Steps) -> list[str]:
        console = Console(width=40, color_system=None, legacy_windows=False)
        with console.capture() as capture:
            console.print(steps)
        return [line.rstrip() for line in capture.get().splitlines()]

    steps, frames = Steps(), []
    for event in events():
        steps(event)
        frames.append(shown(steps))
    assert any("… The bridge opened in 1913. [1]" in frame for frame in frames)
    assert any(frame[-2:] == ["✓ The bridge opened in 1913. [1]", "It has"] for frame in frames), frames
    assert frames[-1][-3:] == [
        "✓ The bridge opened in 1913. [1]",
        "? It has twelve arches [1].",
        "✓ Nobody lives there now. [2]",
    ]
