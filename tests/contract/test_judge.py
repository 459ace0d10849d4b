"""What every judge promises, asked of the fake and of the verbatim one."""

from __future__ import annotations

import asyncio
import math

import pytest

from veridical.models.fake import FakeJudge
from veridical.models.verbatim import Verbatim
from veridical.ports import Judge
from veridical.types import Entailment

PASSAGE = "The lighthouse was built in 1874. It stands forty metres above the sea."
PAIRS = [
    (PASSAGE, "The lighthouse was built in 1874."),
    (PASSAGE, "Bread needs flour, water and salt."),
    (PASSAGE, "It stands forty metres above the sea."),
    ("Bread needs flour.", "The lighthouse was built in 1874."),
]


@pytest.fixture(scope="module", params=["fake", "verbatim"])
def judge(request: pytest.FixtureRequest) -> Judge:
    if request.param == "fake":
        return FakeJudge({claim: Entailment(0.9, 0.1, 0.0) for _, claim in (PAIRS[0], PAIRS[2])})
    return Verbatim()


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


def test_what_the_passage_says_scores_above_what_it_does_not(judge: Judge) -> None:
    found = ask(judge, PAIRS)
    assert found[0].entailment > 0.5 > found[1].entailment


def test_a_verdict_does_not_depend_on_its_neighbours(judge: Judge) -> None:
    together = ask(judge, PAIRS)
    for pair, entailment in zip(PAIRS, together, strict=True):
        assert ask(judge, [pair])[0] == pytest.approx(entailment, abs=1e-6)


def test_order_follows_the_pairs(judge: Judge) -> None:
    for backward, forward in zip(ask(judge, PAIRS[::-1]), ask(judge, PAIRS)[::-1], strict=True):
        assert backward == pytest.approx(forward, abs=1e-6)


def test_an_empty_claim_or_passage_is_not_supported(judge: Judge) -> None:
    for pair in (("", "Fish swim."), (PASSAGE, ""), ("", ""), (" \n", " \t")):
        assert ask(judge, [pair])[0].entailment < 0.5
