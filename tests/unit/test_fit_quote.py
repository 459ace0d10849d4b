"""The fit behind `quote`: it finds the input that tells right sentences, and its probabilities mean something."""

from __future__ import annotations

import numpy as np

from veridical.training.fit_quote import Nearest, Scored, calibrate, fit_ranking, holds_answer


def _questions(count: int) -> list[Scored]:
    """Input 1 tells which sentence is right, input 2 is noise; input 0 is the constant."""
    rng = np.random.default_rng(3)
    made = []
    for _ in range(count):
        inputs = np.column_stack([np.ones(5), rng.normal(size=5), rng.normal(size=5)])
        right = np.arange(5) == (inputs[:, 1] + 0.3 * rng.normal(size=5)).argmax()
        made.append(Scored(inputs, right))
    return made


def test_the_input_that_matters_gets_the_weight() -> None:
    weights = fit_ranking(_questions(60), rounds=150)
    assert weights[1] > 1.0
    assert abs(weights[2]) < 0.3 * weights[1]


def test_probabilities_sum_to_the_number_of_right_sentences() -> None:
    rows = _questions(60)
    weights = calibrate(rows, fit_ranking(rows, rounds=150))
    expected = sum((1 / (1 + np.exp(-row.inputs @ weights))).sum() for row in rows)
    assert np.isclose(expected, sum(row.right.sum() for row in rows), rtol=0.01)


def test_answers_match_as_whole_words() -> None:
    assert holds_answer("It has the 23 bells.", ["23 bells"])
    assert not holds_answer("It has 230 bells.", ["23"])
    assert not holds_answer("Anything.", ["the"])


def test_nearest_always_holds_the_gold_passage() -> None:
    texts = ["tea from the hills", "coffee from the coast", "cocoa beans", "gold"]
    assert Nearest(texts).find("where does coffee come from", 2, always="gold") == ["coffee from the coast", "gold"]
