"""The rows the judge learns from, and the measures it is judged by. Needs no torch."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest

from veridical.checks.weight import lower, odds
from veridical.training import edits
from veridical.training.answer_data import claims_of
from veridical.training.judge_data import FURTHER, SOURCES, UNKNOWN, Corpus, focus, lengthen, share
from veridical.training.judge_measure import Scored
from veridical.training.judge_tests import (
    area_under_roc,
    balanced_accuracy,
    best_threshold,
    calibration_error,
    macro_accuracy,
    swap_test,
)
from veridical.training.relevance_data import Alike, holds, names, popqa_subject
from veridical.training.wiki_data import wiki_rows
from veridical.types import Finding

TEXT = (
    "Ada Lovelace was born in 1815 in London. She worked with Charles Babbage on the Analytical Engine. "
    "Her notes were published in 1843. The engine was never built. Many engineers admired the first program."
)
POOL = edits.Pool(["Grace Hopper", "Alan Turing"], (), TEXT)


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (edits.change_number, "Her notes were published in 1843."),
        (edits.change_name, "She worked with Charles Babbage."),
        (edits.exchange_names, "In London, Ada Lovelace met Charles Babbage."),
        (edits.negate, "The engine was built."),
        (edits.use_opposite, "It was the first program."),
        (edits.strengthen, "Many engineers came, and some stayed."),
        (edits.add_detail, "The engine was built."),
    ],
)
def test_an_edit_changes_the_sentence_and_is_repeatable(edit: edits.Edit, sentence: str) -> None:
    changed = edit(sentence, POOL, Random(1))
    assert changed
    assert changed != sentence
    assert edit(sentence, POOL, Random(1)) == changed


def test_a_sentence_with_nothing_to_change_gives_none() -> None:
    assert edits.change_number("It rains.", POOL, Random(1)) is None
    assert edits.exchange_names("It rains.", POOL, Random(1)) is None


def test_a_bound_that_follows_and_one_that_does_not() -> None:
    follows, fails = edits.compare("Her notes were published in 1843.", Random(2)) or ("", "")
    words = follows.rstrip(".").split()
    assert (int(words[-1]) > 1843) == (words[-2] == "before")
    assert words[-1] == fails.rstrip(".").split()[-1]


def test_an_edited_claim_is_also_seen_as_true() -> None:
    rows = [{"title": f"T{n}", "text": TEXT} for n in range(40)]
    made = list(wiki_rows(Corpus(rows, [], POOL.names), Random(3), 1.0))  # type: ignore[arg-type]
    claims = {row.second for row in made if row.label == 0} & {row.second for row in made if row.label == 3}
    assert claims


def test_a_lengthened_premise_still_holds_the_premise() -> None:
    assert "The engine hums." in lengthen("The engine hums.", [{"title": "T", "text": TEXT}], Random(4))


def test_no_source_is_non_commercial() -> None:
    licences = {name: licence for name, (licence, _, _) in (SOURCES | FURTHER).items()}
    assert not [name for name, licence in licences.items() if re.search(r"\bNC\b|[Nn]one", licence)]
    assert not {"sick", "scifact", "control", "lingnli", "msmarco", "wikiqa"} & set(SOURCES)


def test_an_answer_is_found_as_whole_words() -> None:
    assert holds("It lies in Rome, Italy.", ["rome"])
    assert not holds("It lies in Romeo's town.", ["rome"])
    assert 0.0 <= share("Rome") < 1.0


def test_swaps_are_never_what_the_passage_says() -> None:
    corpus = Corpus([], [{"title": "Ada", "text": TEXT}], ["Grace Hopper"])
    pairs, supported, _ = swap_test(corpus)
    assert all((claim in premise) == bool(right) for (premise, claim), right in zip(pairs, supported, strict=True))


def test_measures_worked_by_hand() -> None:
    scores, supported = np.array([0.9, 0.6, 0.4, 0.1]), np.array([1, 0, 1, 0])
    assert balanced_accuracy(scores, supported, 0.5) == 0.5
    assert balanced_accuracy(scores, supported, 0.95) == 0.5
    assert area_under_roc(scores, supported) == 0.75  # three of the four pairs are in order
    assert area_under_roc(np.ones(4), supported) == 0.5
    assert calibration_error(np.array([0.75, 0.75, 0.75, 0.75]), np.array([1, 1, 1, 0])) == 0.0
    assert calibration_error(scores, supported) == pytest.approx((0.1 + 0.6 + 0.6 + 0.1) / 4)


def test_the_threshold_parts_what_can_be_parted() -> None:
    scores, supported = np.array([0.8] * 20 + [0.3] * 20), np.array([1] * 20 + [0] * 20)
    threshold, accuracy = best_threshold(lambda at: balanced_accuracy(scores, supported, at))
    assert accuracy == pytest.approx(1.0)
    assert 0.3 < threshold <= 0.8


def test_every_source_counts_the_same_and_only_those_named() -> None:
    scores = np.array([0.9] * 20 + [0.1] * 20 + [0.9] * 60)
    supported = np.array([1] * 20 + [0] * 20 + [1] * 30 + [0] * 30)  # `a` is all right, half of `b` is wrong
    sources = ["a"] * 40 + ["b"] * 60
    assert macro_accuracy(scores, supported, sources, 0.5, ("a", "b")) == 0.75
    assert macro_accuracy(scores, supported, sources, 0.5, ("a",)) == 1.0


def test_the_best_window_counts_and_the_worst_sentence() -> None:
    sure, unsure, against = (4.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 4.0, 0.0)
    # Pair 0: one sentence, two windows, the second of which carries it. Pair 1: two sentences, one of them denied.
    places = np.array([(0, 0, 1), (0, 0, 0), (1, 0, 0), (1, 1, 2)], np.int32)
    scored = Scored(np.array([sure, unsure, against], np.float32), *places.T)
    first, second = scored.support({"temperature": 1.0})
    assert first == pytest.approx(np.exp(4) / (np.exp(4) + 2))
    assert second == pytest.approx(1 / (np.exp(4) + 2))
    _, eased = scored.support({"temperature": 1.0, "easing": 0.3})
    assert np.log(eased / (1 - eased)) == pytest.approx(np.log(second / (1 - second)) + 0.3 * np.log(2))


def test_a_long_premise_is_read_where_the_claim_would_be() -> None:
    filler = " ".join(f"Sentence number {n} speaks of the weather over the hills." for n in range(60))
    kept = focus(f"{filler} The keeper counted seventeen gulls. {filler}", "Seventeen gulls were counted.", Random(1))
    assert "seventeen gulls" in kept
    assert len(kept.split()) < 260


def test_a_claim_is_made_of_a_question_and_an_answer() -> None:
    assert "Ada wrote the notes." in claims_of("Who wrote the notes?", "Ada")
    assert all("Ada" in claim for claim in claims_of("Who was the first?", "Ada"))
    assert len(claims_of("Why?", "rain")) >= 2


def test_some_rows_are_left_to_the_teacher() -> None:
    rows = [{"title": "Ada", "text": TEXT} for _ in range(20)]
    made = list(wiki_rows(Corpus(rows, [], POOL.names), Random(3), 1.0))  # type: ignore[arg-type]
    assert any(row.label == UNKNOWN for row in made)


def test_popqa_subjects_and_their_names() -> None:
    assert popqa_subject("What is John Mayne's occupation?") == "John Mayne"
    assert popqa_subject("Who was the director of The Gate?") == "The Gate"
    assert names("Mayne was a printer.", "John Mayne")
    assert not names("A printer of Dumfries.", "John Mayne")


def test_the_texts_that_share_rare_words_come_first() -> None:
    alike = Alike(["the cat sat", "the dog sat", "the zebra ran", "the zebra sat"])
    assert alike.to("a zebra cat", 2) == [0, 2]  # "cat" stands in one text, "zebra" in two


def test_findings_lower_a_score_in_log_odds() -> None:
    number, name = Finding("number", "7", ""), Finding("name", "Ada", "")
    assert lower(0.9, ()) == 0.9
    assert odds([number, name]) == pytest.approx(1.8)
    assert odds([number, number]) == 1.5  # one wrong number is as bad as two
    # 0.9 is odds of 9 to 1; a hard finding divides them by e to the 1.5.
    assert lower(0.9, [number]) == pytest.approx(9 / np.exp(1.5) / (1 + 9 / np.exp(1.5)))
    assert lower(0.0, [number]) == 0.0
    assert 0.0 < lower(1.0, [number]) < 1.0
