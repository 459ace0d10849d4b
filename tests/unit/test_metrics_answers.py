"""Metrics of short answers and lists, worked by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.metrics.answers import answer_accuracy, em_hit, em_recall, exact_match, token_f1
from veridical.metrics.lists import score_list
from veridical.metrics.normalise import drop_marks, normalise_answer, normalise_case
from veridical.metrics.retrieval import ndcg_at, recall_at, reciprocal_rank, retrieval_accuracy


def test_normalising() -> None:
    # lower → "the u.s.  theatre, an a-team!" → no punctuation → "the us  theatre an ateam" → no articles
    assert normalise_answer("The U.S.  theatre, an A-team!") == "us theatre ateam"
    assert normalise_case("The U.S.  theatre!") == "the us theatre"
    assert normalise_answer("A the an.") == ""


def test_marks_go_with_their_space_and_nothing_else() -> None:
    assert drop_marks("Use .NET [1, 2][3] [a] now [4-6].") == "Use .NET [a] now."


@pytest.mark.parametrize(
    ("answer", "golds", "expected"),
    [
        ("It was the Eiffel-Tower [1].", ["eiffeltower"], 1.0),
        ("It was Paris.", ["Lyon", "paris"], 1.0),
        ("It was [1889].", ["1889"], 0.0),  # a mark is not an answer
        ("Anything.", ["?!"], 0.0),  # nothing is left of this gold string
        ("", ["Paris"], 0.0),
        ("Paris", [], 0.0),
    ],
)
def test_answer_accuracy(answer: str, golds: Sequence[str], expected: float) -> None:
    assert answer_accuracy(answer, golds) == expected


def test_exact_match() -> None:
    assert exact_match("The Beatles [2].", ["beatles", "Wings"]) == 1.0
    assert exact_match("The Beatles and Wings", ["beatles"]) == 0.0


def test_token_f1() -> None:
    # answer: tall tower in paris (4); gold: tower tower paris (3). Common: tower once, paris once = 2.
    # P = 2/4, R = 2/3, F = 2 · (1/2) · (2/3) / (7/6) = 4/7
    assert token_f1("a tall tower in Paris", ["tower, tower Paris"]) == pytest.approx(4 / 7)
    # The best gold counts: paris alone gives P = 1/4, R = 1, F = 2/5 < 4/7.
    assert token_f1("a tall tower in Paris", ["Paris", "tower, tower Paris"]) == pytest.approx(4 / 7)
    assert token_f1("the", ["an"]) == 1.0  # nothing is left of either
    assert token_f1("the", ["Paris"]) == token_f1("Paris", [""]) == token_f1("x", ["y"]) == token_f1("x", []) == 0.0


def test_em_recall() -> None:
    # Three questions; "ali daei" and "bican" are said, "sinclair" is not: 2/3, no hit.
    answer = "Ali Daei [1] has 109, Josef Bican 805 [2]."
    golds = [["Daei", "Ali Daei"], ["Bican"], ["Sinclair", "Christine Sinclair"]]
    assert em_recall(answer, golds) == pytest.approx(2 / 3)
    assert em_hit(answer, golds) == 0.0
    assert em_hit(answer, golds[:2]) == 1.0
    assert em_recall(answer, []) == em_hit(answer, []) == 0.0


def test_a_list_against_its_gold_answers() -> None:
    # Items: heat, strain, strain, foo (the empty one is dropped): 3 of 4 right → P = 3/4.
    # Gold: heat, strain, sanctuary, crying freeman → named 2 of 4: R = 1/2, R@5 = min(5,2)/min(5,4) = 1/2.
    # F1 = 2 · 3/4 · 1/2 / (5/4) = 3/5.
    scores = score_list(
        "Heat [1], Strain, , Strain [2], Foo.", [["Heat"], ["Strain", "S."], ["Sanctuary"], ["Freeman"]]
    )
    assert (scores.precision, scores.recall, scores.recall_5, scores.items) == (0.75, 0.5, 0.5, 4)
    assert scores.f1 == scores.f1_5 == pytest.approx(3 / 5)


def test_five_right_answers_are_enough_for_recall_at_5() -> None:
    # 6 of 10 named: R = 6/10, R@5 = min(5, 6) / min(5, 10) = 1. P = 1. F1 = 2 · 0.6 / 1.6 = 3/4, F1@5 = 1.
    scores = score_list("a1, b1, c1, d1, e1, f1", [[f"{letter}1"] for letter in "abcdefghij"])
    assert (scores.recall, scores.recall_5) == (0.6, 1.0)
    assert (scores.f1, scores.f1_5) == (pytest.approx(3 / 4), 1.0)


def test_empty_lists_score_nothing() -> None:
    nothing = score_list(" . ", [["a b"]])
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.f1_5, nothing.items) == (0, 0, 0, 0, 0)
    assert score_list("x", []).recall_5 == 0.0


def test_retrieval_accuracy_looks_at_the_first_k() -> None:
    passages = ["Of Lyon.", "It stands in PARIS, France.", "Nice"]
    assert retrieval_accuracy(1, passages, ["Paris France"]) == 0.0
    assert retrieval_accuracy(2, passages, ["Paris France"]) == 1.0
    assert retrieval_accuracy(3, passages, ["…", "!"]) == 0.0


def test_rankings() -> None:
    relevant = {"a": 2.0, "b": 1.0, "c": 0.0}
    # DCG@3 of [x, a, b] = 2/log2(3) + 1/log2(4) = 1.2619 + 0.5; ideal = 2/log2(2) + 1/log2(3) = 2 + 0.6309
    assert ndcg_at(3, ["x", "a", "b"], relevant) == pytest.approx((1.26186 + 0.5) / (2 + 0.63093), abs=1e-5)
    assert recall_at(2, ["x", "a", "b"], relevant) == 0.5
    assert reciprocal_rank(["x", "a", "b"], relevant) == 0.5
    assert ndcg_at(3, ["c"], {"c": 0.0}) == recall_at(3, ["c"], {"c": 0.0}) == reciprocal_rank(["c"], relevant) == 0.0


texts = st.text(alphabet="abthe .,-'AX1", max_size=30)


@given(texts, st.lists(texts, max_size=3))
def test_string_metrics_are_shares_and_an_equal_answer_is_right(answer: str, golds: list[str]) -> None:
    assert 0.0 <= token_f1(answer, golds) <= 1.0
    assert exact_match(answer, golds) <= token_f1(answer, golds)
    assert token_f1(answer, [answer]) == exact_match(answer, [answer]) == em_recall(answer, [[answer]]) == 1.0


@given(st.lists(st.sampled_from("abcdefg"), max_size=8), st.sets(st.sampled_from("bcdefghij"), min_size=1))
def test_list_scores_follow_from_counting(items: list[str], gold: set[str]) -> None:
    scores = score_list(", ".join(f"x{item}" for item in items), [[f"X{name}"] for name in sorted(gold)])
    named = len(gold & set(items))
    assert scores.recall == pytest.approx(named / len(gold))
    assert scores.recall_5 == pytest.approx(min(5, named) / min(5, len(gold)))
    assert scores.precision == pytest.approx(sum(item in gold for item in items) / len(items) if items else 0)
