"""`rag` and `closed`, with every model faked."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from pydantic import BaseModel

from unit.kits import BRIDGE, LIGHT, make_kit
from veridical.budget import Budget
from veridical.errors import BudgetExceeded, ConfigError, ModelOutputInvalid, ModelUnavailable
from veridical.events import Ended, Event, Token
from veridical.methods.closed import Closed
from veridical.methods.condense import Turn, condense
from veridical.methods.rag import Rag
from veridical.methods.registry import describe_methods, find_method
from veridical.models.fake import FakeJudge, FakeWriter
from veridical.serial import answer_from_json, answer_to_json
from veridical.types import Answer, Chunk, Entailment, Label, Passage, Prompt, Span, Status

QUESTION = "When was the bridge opened?"


def ask(script: dict[str, str] | None = None, question: str = QUESTION, **kit: object) -> Answer:
    return asyncio.run(Rag()(make_kit(script, **kit), question))  # type: ignore[arg-type]


def test_a_quoted_sentence_is_supported_to_the_exact_place() -> None:
    answer = ask({"answer_cited": "The bridge opened in 1913. [1]"})
    (claim,) = answer.claims
    assert (answer.status, claim.verdict.label) == (Status.ANSWERED, Label.SUPPORTED)
    assert claim.verdict.evidence is not None
    place = claim.verdict.evidence.source
    assert (place.uri, place.page) == ("/docs/1.md", 1)
    assert BRIDGE[place.span.start - 100 : place.span.end - 100] == "The bridge opened in 1913."


def test_a_paraphrase_is_not_called_supported_by_a_judge_that_cannot_tell() -> None:
    (claim,) = ask({"answer_cited": "The bridge was opened in 1913 [1]."}).claims
    assert claim.verdict.label is Label.UNVERIFIED


def test_part_of_a_sentence_is_not_support() -> None:
    text = "Nobody believes the dam is safe."
    passages = (Passage("d:0", "d", text, Span(0, len(text))),)
    (claim,) = ask({"answer_cited": "the dam is safe. [1]"}, "Is the dam safe?", passages=passages).claims
    assert claim.verdict.label is Label.UNVERIFIED


def test_a_sources_own_footnotes_do_not_hinder_a_quotation() -> None:
    text = "The dam was finished in 1931.[12] It holds [3] to this day."
    passages = (Passage("d:0", "d", text, Span(0, len(text))),)
    (claim,) = ask(
        {"answer_cited": "The dam was finished in 1931. [1]"}, "When was the dam finished?", passages=passages
    ).claims
    assert claim.verdict.label is Label.SUPPORTED
    assert claim.verdict.evidence is not None
    assert claim.verdict.evidence.text == "The dam was finished in 1931.[12]"


def test_an_uncited_sentence_that_no_passage_carries_is_never_supported() -> None:
    (claim,) = ask({"answer_cited": "The bridge fell in 1913."}).claims
    assert claim.verdict.label is Label.UNVERIFIED
    assert claim.verdict.reason == "it cites no passage, and none was found to say so"


def test_an_uncited_sentence_that_a_passage_carries_is_made_to_cite_it() -> None:
    answer = ask({"answer_cited": "The bridge opened in 1913."})
    assert answer.text == "The bridge opened in 1913 [1]."
    (claim,) = answer.claims
    assert (claim.verdict.label, claim.verdict.reason) == (Label.SUPPORTED, "citation added: [1]")


def test_invalid_marks_are_removed_and_counted() -> None:
    answer = ask({"answer_cited": "The bridge opened in 1913. [1][7] It is red [12]."})
    assert answer.invalid_marks == 2
    assert answer.text == "The bridge opened in 1913. [1] It is red."


def test_a_model_that_does_not_know_abstains() -> None:
    answer = ask({"answer_cited": "I don't know."})
    assert (answer.status, answer.text, answer.claims) == (Status.ABSTAINED, "", ())
    assert "does not know" in answer.reason


def test_a_model_that_writes_nothing_abstains() -> None:
    assert ask({"answer_cited": "  "}).status is Status.ABSTAINED


def test_nothing_found_abstains_without_a_call() -> None:
    answer = ask({}, question="Zyzzyva?")
    assert (answer.status, answer.usage.calls) == (Status.ABSTAINED, 0)


def test_a_writer_needs_no_language_model() -> None:
    answer = ask(None, writer=FakeWriter())
    assert answer.text == "The bridge opened in 1913. [1]"
    assert answer.usage.calls == 0


@pytest.mark.parametrize(
    "broken", [Entailment(math.nan, 0.5, 0.5), Entailment(7.0, 0.0, 0.0), Entailment(-1.0, 1.0, 1.0)]
)
def test_an_unreadable_judge_fails_closed(broken: Entailment) -> None:
    judge = FakeJudge({"The bridge opened in 1913.": broken})
    (claim,) = ask({"answer_cited": "The bridge opened in 1913. [1]"}, judge=judge).claims
    assert (claim.verdict.label, claim.verdict.score) == (Label.UNVERIFIED, None)


class English:
    """What every judge offers beside its verdicts."""

    threshold = 0.5

    def declines(self, text: str) -> str:
        return ""


def test_a_judge_that_is_down_fails_closed() -> None:
    class Down(English):
        async def entail(self, pairs: object) -> list[Entailment]:
            raise ModelUnavailable("judge down", fix="start it")

    (claim,) = ask({"answer_cited": "The bridge opened in 1913. [1]"}, judge=Down()).claims
    assert claim.verdict.label is Label.UNVERIFIED
    assert "judge down" in claim.verdict.reason


@pytest.mark.parametrize(
    "answer", [[], [None], [Entailment(1.0, 0.0, 0.0)] * 9, [(1.0, 0.0, 0.0)], [Entailment(0.9, 0.9, 0.9)]]
)
def test_a_judge_that_answers_nonsense_supports_nothing(answer: list[object]) -> None:
    class Nonsense(English):
        async def entail(self, pairs: object) -> list[object]:
            return answer

    (claim,) = ask({"answer_cited": "The bridge opened in 1913. [1]"}, judge=Nonsense()).claims
    assert (claim.verdict.label, claim.verdict.score) == (Label.UNVERIFIED, None)


def test_a_judge_that_crashes_supports_nothing() -> None:
    class Crashing(English):
        async def entail(self, pairs: object) -> list[Entailment]:
            raise RuntimeError("out of memory")

    (claim,) = ask({"answer_cited": "The bridge opened in 1913. [1]"}, judge=Crashing()).claims
    assert claim.verdict.label is Label.UNVERIFIED
    assert "out of memory" in claim.verdict.reason


def test_when_no_sentence_alone_carries_it_the_whole_passage_is_the_evidence() -> None:
    class Whole(English):
        async def entail(self, pairs: list[tuple[str, str]]) -> list[Entailment]:
            return [Entailment(float(BRIDGE in p), float(BRIDGE not in p), 0.0) for p, _ in pairs]

    (claim,) = ask({"answer_cited": "The bridge of five arches opened in 1913. [1]"}, judge=Whole()).claims
    assert claim.verdict.label is Label.SUPPORTED
    assert claim.verdict.evidence is not None
    assert claim.verdict.evidence.text == BRIDGE


def test_a_judge_that_is_lost_on_the_way_supports_nothing() -> None:
    class NoSentences(English):
        async def entail(self, pairs: list[tuple[str, str]]) -> list[Entailment]:
            if any(BRIDGE not in premise and LIGHT not in premise for premise, _ in pairs):
                raise ModelUnavailable("judge down", fix="start it")
            return [Entailment(1.0, 0.0, 0.0) for _ in pairs]

    (claim,) = ask({"answer_cited": "The bridge opened in 1913. [1]"}, judge=NoSentences()).claims
    assert (claim.verdict.label, claim.verdict.score) == (Label.UNVERIFIED, None)


def test_a_contradicting_passage_is_quoted() -> None:
    judge = FakeJudge({"The bridge opened in 1920.": Entailment(0.0, 0.1, 0.9)})
    (claim,) = ask({"answer_cited": "The bridge opened in 1920 [1]."}, judge=judge).claims
    assert claim.verdict.label is Label.CONTRADICTED
    assert claim.verdict.evidence is not None
    assert claim.verdict.evidence.text == "The bridge opened in 1913."


def test_the_answer_goes_to_json_and_back() -> None:
    answer = ask({"answer_cited": f"{LIGHT} [2]"})
    assert answer_from_json(answer_to_json(answer)) == answer
    assert answer.method == "Rag(gather=Search(k=None), refine=Keep())"


def test_tokens_stream_and_every_step_is_a_span() -> None:
    seen: list[Event] = []
    answer = ask({"answer_cited": "The bridge opened in 1913. [1]"}, seen=seen)
    assert "".join(e.text for e in seen if isinstance(e, Token)) == answer.text
    assert [e.name for e in seen if isinstance(e, Ended)] == ["search", "ask", "write", "verify"]
    prompt = next(e for e in seen if getattr(e, "name", "") == "ask")
    assert prompt.detail["prompt"] == "answer_cited@1"  # type: ignore[union-attr]


def test_the_budget_is_enforced() -> None:
    with pytest.raises(BudgetExceeded, match="0 calls"):
        ask({"answer_cited": "x"}, budget=Budget(calls=0))


def test_the_tokens_of_the_budget_are_enforced() -> None:
    kit = make_kit({"answer_closed": "In 1913."}, budget=Budget(tokens=5))
    asyncio.run(kit.ask("answer_closed", question=QUESTION))
    with pytest.raises(BudgetExceeded, match="5 tokens"):
        asyncio.run(kit.ask("answer_closed", question=QUESTION))


def test_a_reply_that_outgrows_the_budget_is_cut_off() -> None:
    with pytest.raises(BudgetExceeded, match="tokens"):
        ask({"answer_cited": "and " * 400}, budget=Budget(tokens=100))


def test_the_seconds_of_the_budget_stop_a_model_that_never_ends() -> None:
    left = []

    class Endless:
        async def stream(self, prompt: object, sampling: object) -> AsyncIterator[Chunk]:
            try:
                while True:
                    await asyncio.sleep(0.001)
                    yield Chunk("and ")
            finally:
                left.append(True)

    kit = replace(make_kit({}, budget=Budget(seconds=0.05)), generator=Endless())
    with pytest.raises(BudgetExceeded, match="seconds"):
        asyncio.run(Rag()(kit, QUESTION))
    assert left == [True]


def test_the_seconds_of_the_budget_stop_a_search_that_hangs() -> None:
    class Hanging:
        async def search(self, *_: object) -> list[list[Passage]]:
            await asyncio.sleep(60)
            return []

    kit = replace(make_kit({}, budget=Budget(seconds=0.05)), retriever=Hanging())
    with pytest.raises(BudgetExceeded, match="seconds"):
        asyncio.run(Rag()(kit, QUESTION))


def test_json_is_asked_for_again_until_it_fits() -> None:
    class Fact(BaseModel):
        year: int

    replies = iter(["about 1913", '{"year": "later"}', '```json\n{"year": 1913}\n```'])

    class Careless:
        async def stream(self, prompt: Prompt, sampling: object) -> AsyncIterator[Chunk]:
            assert prompt.schema is not None
            yield Chunk(next(replies))

    kit = replace(make_kit({}), generator=Careless())
    assert asyncio.run(kit.ask_json("answer_closed", Fact, question=QUESTION)) == Fact(year=1913)
    assert kit.meter.usage.calls == 3


def test_json_that_never_fits_is_an_error() -> None:
    class Fact(BaseModel):
        year: int

    with pytest.raises(ModelOutputInvalid):
        asyncio.run(make_kit({"answer_closed": "no"}).ask_json("answer_closed", Fact, question=QUESTION))


def test_closed_answers_from_memory_and_cites_nothing() -> None:
    answer = asyncio.run(Closed()(make_kit({"answer_closed": "In 1913 [1]."}), QUESTION))
    assert (answer.text, answer.invalid_marks, answer.sources) == ("In 1913.", 1, ())
    assert answer.claims[0].verdict.label is Label.UNVERIFIED


def test_closed_may_not_know() -> None:
    answer = asyncio.run(Closed()(make_kit({"answer_closed": "I don't know."}), QUESTION))
    assert (answer.status, answer.claims) == (Status.ABSTAINED, ())


def test_closed_refuses_without_a_language_model() -> None:
    with pytest.raises(ModelUnavailable, match="model pull smollm2"):
        asyncio.run(Closed()(make_kit(None), QUESTION))


def test_methods_are_found_by_name_and_described() -> None:
    assert find_method("rag") == Rag()
    with pytest.raises(ConfigError, match="did you mean rag"):
        find_method("rg")
    assert [(d.name, bool(d.summary)) for d in describe_methods()][:2] == [("rag", True), ("closed", True)]


def test_follow_ups_are_condensed_by_the_model() -> None:
    kit = make_kit({"condense_question": "Who built the bridge?\nSure!"})
    assert asyncio.run(condense(kit, [Turn(QUESTION, "In 1913.")], "Who built it?")) == "Who built the bridge?"


@pytest.mark.parametrize(
    ("follow_up", "condensed"),
    [
        ("And who built it?", f"{QUESTION} And who built it?"),
        ("Where is the northern lighthouse keeper's house?", "Where is the northern lighthouse keeper's house?"),
    ],
)
def test_without_a_model_a_leaning_follow_up_keeps_its_topic(follow_up: str, condensed: str) -> None:
    assert asyncio.run(condense(make_kit(None), [Turn(QUESTION, "In 1913.")], follow_up)) == condensed
