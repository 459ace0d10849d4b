"""Metrics of support and relevance, worked by hand; MAUVE without its package."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from veridical.errors import ModelOutputInvalid, ModelUnavailable
from veridical.metrics.mauve import Compared, mauve, mauve_text
from veridical.metrics.support import (
    Step,
    answer_relevance,
    assess_claim_recall,
    assess_coverage,
    atomic_precision,
    groundedness,
)
from veridical.types import Claim, Entailment, Label, Span, Verdict


@dataclass
class WordJudge:
    """A premise entails a hypothesis that is in it, word for word."""

    threshold: float = 0.5

    def declines(self, text: str) -> str:
        return ""

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        return [Entailment(float(claim in premise), float(claim not in premise), 0.0) for premise, claim in pairs]


def test_claim_recall() -> None:
    # "red" and "big" are said, "old" is not: 2/3. The mark inside does not hide "red fox".
    answer = "A red [1] fox. It is big [2]."
    assert asyncio.run(assess_claim_recall(WordJudge(), answer, ["red fox", "big", "old"])) == pytest.approx(2 / 3)
    assert asyncio.run(assess_claim_recall(WordJudge(), answer, [])) == 0.0


def test_atomic_precision_and_its_length_penalty() -> None:
    # 3 of 4 facts: 0.75. With γ = 10: 0.75 · exp(1 − 10/4) = 0.75 · e^−1.5 = 0.75 · 0.22313 = 0.16735
    facts = [True, True, True, False]
    assert atomic_precision(facts) == 0.75
    assert atomic_precision(facts, gamma=10) == pytest.approx(0.16735, abs=1e-5)
    assert atomic_precision([True] * 10, gamma=10) == atomic_precision([True] * 12, gamma=10) == 1.0
    assert atomic_precision([]) == atomic_precision([], gamma=10) == 0.0


def test_knowledge_coverage() -> None:
    # Claims a b c d. Step 1 finds a b and says a c: a. Step 2 finds b c d and says b d: b d.
    # c is found (2) and said (1), but by different steps. Union {a, b, d} → 3/4.
    steps = [Step("a b", "a c [1]"), Step("b c d", "b d")]
    assert asyncio.run(assess_coverage(WordJudge(), steps, list("abcd"))) == 0.75
    assert asyncio.run(assess_coverage(WordJudge(), [], ["a"])) == 0.0
    assert asyncio.run(assess_coverage(WordJudge(), steps, [])) == 0.0


def test_groundedness_is_the_share_of_supported_claims() -> None:
    claims = [Claim("x", Span(0, 1), verdict=Verdict(label)) for label in (*Label, Label.SUPPORTED)]
    assert groundedness(claims) == 0.5  # supported, contradicted, unverified, supported
    assert groundedness([]) == 0.0


@dataclass
class FixedScorer:
    scores: Sequence[float]
    asked: Sequence[tuple[str, str]] = ()

    async def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        self.asked = pairs
        return self.scores


def test_answer_relevance_reads_the_answer_without_marks() -> None:
    scorer = FixedScorer([0.25, 1.2, math.nan])
    pairs = [("q", "In Paris [1]."), ("q", "[1]"), ("q", "Yes."), ("r", "No.")]
    assert asyncio.run(answer_relevance(scorer, pairs)) == [0.25, 0.0, 1.0, 0.0]
    assert scorer.asked == [("q", "In Paris."), ("q", "Yes."), ("r", "No.")]
    assert asyncio.run(answer_relevance(FixedScorer([]), [("q", "")])) == [0.0]
    with pytest.raises(ModelOutputInvalid):
        asyncio.run(answer_relevance(FixedScorer([]), [("q", "a")]))


def test_mauve_compares_the_first_100_words_without_marks() -> None:
    assert mauve_text("Why?", "Because [1] it is so.") == "Why? Because it is so"
    assert len(mauve_text("Why?", "word " * 200).split()) == 100


def test_mauve_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mauve", None)
    with pytest.raises(ModelUnavailable, match=r"veridical\[mauve\]"):
        mauve([Compared("q", "a", "b")])


def test_mauve_hands_over_references_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    package = ModuleType("mauve")
    vars(package)["compute_mauve"] = lambda **options: asked.update(options) or SimpleNamespace(mauve=0.5)
    monkeypatch.setitem(sys.modules, "mauve", package)
    assert mauve([Compared("q", "answer", "reference")]) == 0.5
    assert (asked["p_text"], asked["q_text"]) == (["q reference"], ["q answer"])
