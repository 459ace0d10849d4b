"""ROUGE-L by hand, and the stemmer under it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.metrics.rouge import rouge_l, rouge_l_sum, rouge_tokens
from veridical.metrics.stem import porter_stem


def test_longest_common_subsequence() -> None:
    # reference: police killed the gunman (4), answer: police kill the gunman tonight (5)
    # without stems: police … the gunman = 3 → P = 3/5, R = 3/4, F = 2 · 3 / (4 + 5) = 2/3
    # with stems: kill = killed → 4 → F = 8/9
    reference, answer = "Police killed the gunman.", "police kill the gunman tonight [1]"
    assert rouge_l(answer, [reference], stem=False) == pytest.approx(2 / 3)
    assert rouge_l(answer, [reference]) == pytest.approx(8 / 9)
    # order matters: "the gunman police killed" shares only "the gunman" in order
    assert rouge_l("the gunman police killed", [reference], stem=False) == pytest.approx(2 * 2 / 8)


def test_summary_level_takes_the_union_over_sentences() -> None:
    # The example of Lin (2004): reference sentence w1 w2 w3 w4 w5, answer sentences w1 w2 w6 w7 w8 and w1 w3 w8 w9 w5.
    # LCS with the first: w1 w2; with the second: w1 w3 w5; the union: w1 w2 w3 w5 = 4 hits.
    # R = 4/5, P = 4/10, F = 2 · 4 / 15
    answer = "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5"
    assert rouge_l_sum(answer, ["w1 w2 w3 w4 w5"], split=str.splitlines) == pytest.approx(8 / 15)


def test_a_token_counts_as_often_as_both_texts_have_it() -> None:
    # reference sentences "a a" and "a", answer "a a": hits would be 2 + 1, but the answer has two. F = 2 · 2 / (3 + 2)
    assert rouge_l_sum("a a", ["a a\na"], split=str.splitlines) == pytest.approx(4 / 5)


def test_the_best_reference_counts_and_nothing_scores_nothing() -> None:
    assert rouge_l("one two", ["three", "one two"]) == rouge_l_sum("One two.", ["Three.", "One two."]) == 1.0
    assert rouge_l("", ["one"]) == rouge_l("one", [""]) == rouge_l("one", []) == rouge_l_sum("", [""]) == 0.0


def test_tokens_are_runs_of_letters_and_digits() -> None:
    # "running" → run, "flies" → fli; words of three letters stay
    assert rouge_tokens("Running, the 3rd naïve-flies!") == ["run", "the", "3rd", "na", "ve", "fli"]


@pytest.mark.parametrize(
    ("word", "stem"),
    [  # Porter's own examples, step by step
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("ties", "tie"),  # NLTK's correction: Porter has "ti"
        ("feed", "feed"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("sing", "sing"),
        ("conflated", "conflat"),
        ("hopping", "hop"),
        ("falling", "fall"),
        ("filing", "file"),
        ("happy", "happi"),
        ("enjoy", "enjoy"),  # NLTK's correction: y stays after a vowel
        ("relational", "relat"),
        ("rationally", "ration"),
        ("geology", "geolog"),
        ("generalization", "gener"),
        ("hopeful", "hope"),
        ("adoption", "adopt"),
        ("controlling", "control"),
        ("rate", "rate"),
        ("cease", "ceas"),
        ("dying", "die"),
        ("died", "die"),
        ("cried", "cri"),
        ("by", "by"),
    ],
)
def test_stems(word: str, stem: str) -> None:
    assert porter_stem(word) == stem


@given(st.text(alphabet="aeioubcdlstyz1", max_size=12))
def test_a_stem_is_never_longer_than_its_word(word: str) -> None:
    assert len(porter_stem(word)) <= len(word)


sentences = st.lists(st.sampled_from(["one", "two", "three", "four"]), min_size=1, max_size=8).map(" ".join)


@given(sentences, sentences)
def test_one_sentence_each_makes_both_variants_equal_and_symmetric(one: str, other: str) -> None:
    assert rouge_l(one, [other]) == pytest.approx(rouge_l_sum(one, [other]))
    assert rouge_l(one, [other]) == pytest.approx(rouge_l(other, [one]))
    assert rouge_l(one, [one]) == 1.0
