"""What every cross-scorer promises, asked of the one that ships."""

from __future__ import annotations

import asyncio

import pytest

from veridical.models.relevance import Relevance
from veridical.ports import CrossScorer

QUESTION = "When was the lighthouse built?"
PAIRS = [
    (QUESTION, "The lighthouse was built in 1874 and stands above the sea."),
    (QUESTION, "Bread needs flour, water and salt."),
    ("What does bread need?", "Bread needs flour, water and salt."),
]


@pytest.fixture(scope="module")
def scorer() -> CrossScorer:
    return Relevance()


def ask(scorer: CrossScorer, pairs: list[tuple[str, str]]) -> list[float]:
    return list(asyncio.run(scorer.score(pairs)))


def test_one_probability_a_pair(scorer: CrossScorer) -> None:
    scores = ask(scorer, PAIRS)
    assert len(scores) == len(PAIRS)
    assert all(0.0 <= score <= 1.0 for score in scores)


def test_no_pairs_give_nothing(scorer: CrossScorer) -> None:
    assert ask(scorer, []) == []


def test_a_passage_that_answers_scores_above_one_that_does_not(scorer: CrossScorer) -> None:
    answers, other, _ = ask(scorer, PAIRS)
    assert answers > 0.5 > other


def test_a_score_does_not_depend_on_its_neighbours(scorer: CrossScorer) -> None:
    together = ask(scorer, PAIRS)
    assert [ask(scorer, [pair])[0] for pair in PAIRS] == pytest.approx(together, abs=1e-6)


def test_whatever_a_document_holds_gets_a_score(scorer: CrossScorer) -> None:
    odd = ["", "\x00\x01", "\ud800 lone surrogate", "word " * 800, "日本語の文", "🜚" * 300]
    assert all(0.0 <= score <= 1.0 for score in ask(scorer, [(QUESTION, text) for text in odd]))
