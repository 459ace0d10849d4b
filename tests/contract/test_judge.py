"""What every judge promises, asked of the fake, the verbatim one, a scripted language model and the one that ships."""

from __future__ import annotations

import asyncio
import math

import pytest

from veridical.models.fake import FakeGenerator, FakeJudge
from veridical.models.judge import LocalJudge
from veridical.models.judge_llm import LlmJudge
from veridical.models.verbatim import Verbatim
from veridical.ports import Judge
from veridical.types import Entailment

PASSAGE = "The lighthouse was built in 1874. It stands forty metres above the sea."
BREAD = "Bread needs flour, water and salt."
PAIRS = [
    (PASSAGE, "The lighthouse was built in 1874."),
    (PASSAGE, BREAD),
    (PASSAGE, "It stands forty metres above the sea."),
    ("Bread needs flour.", "The lighthouse was built in 1874."),
]


@pytest.fixture(scope="module", params=["fake", "verbatim", "llm", "local"])
def judge(request: pytest.FixtureRequest) -> Judge:
    if request.param == "fake":
        return FakeJudge({claim: Entailment(0.9, 0.1, 0.0) for _, claim in (PAIRS[0], PAIRS[2])})
    if request.param == "llm":
        no, yes = '{"verdict": "unverified", "reason": ""}', '{"verdict": "supported", "reason": "it says so"}'
        return LlmJudge(FakeGenerator({"Bread needs": no, "<claim>": yes}))
    return Verbatim() if request.param == "verbatim" else LocalJudge()


def ask(judge: Judge, pairs: list[tuple[str, str]]) -> list[Entailment]:
    return list(asyncio.run(judge.entail(pairs)))


def test_one_distribution_a_pair(judge: Judge) -> None:
    found = ask(judge, PAIRS)
    assert len(found) == len(PAIRS)
    for entailment in found:
        assert all(math.isfinite(p) and 0.0 <= p <= 1.0 for p in entailment)
        assert sum(entailment) == pytest.approx(1.0, abs=1e-6)


def test_no_pairs_give_nothing(judge: Judge) -> None:
    assert ask(judge, []) == []


def test_what_the_passage_says_reaches_the_threshold_and_what_it_does_not_stays_below(judge: Judge) -> None:
    found = ask(judge, PAIRS)
    assert 0.0 < judge.threshold <= 1.0
    assert found[0].entailment >= judge.threshold > found[1].entailment


def test_a_verdict_does_not_depend_on_its_neighbours(judge: Judge) -> None:
    together = ask(judge, PAIRS)
    for pair, entailment in zip(PAIRS, together, strict=True):
        assert ask(judge, [pair])[0] == pytest.approx(entailment, abs=1e-6)


def test_order_follows_the_pairs(judge: Judge) -> None:
    for backward, forward in zip(ask(judge, PAIRS[::-1]), ask(judge, PAIRS)[::-1], strict=True):
        assert backward == pytest.approx(forward, abs=1e-6)


def test_an_empty_claim_or_passage_is_not_supported(judge: Judge) -> None:
    for pair in (("", "Fish swim."), (PASSAGE, ""), ("", ""), (" \n", " \t")):
        assert ask(judge, [pair])[0].entailment < judge.threshold


def test_english_is_not_declined(judge: Judge) -> None:
    assert [judge.declines(text) for text in (PASSAGE, BREAD, "", "1874", "def add(a, b): return a + b")] == [""] * 5
