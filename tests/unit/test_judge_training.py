"""The rows the judge learns from, and the measures it is judged by. Needs no torch."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest

from veridical.training import edits
from veridical.training.judge_data import SOURCES, Corpus, holds, lengthen, share, wiki_rows
from veridical.training.judge_tests import (
    area_under_roc,
    balanced_accuracy,
    best_threshold,
    calibration_error,
    swap_test,
)

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
    made = list(wiki_rows(Corpus(rows, [], POOL.names), Random(3)))  # type: ignore[arg-type]
    claims = {row.second for row in made if row.label == 0} & {row.second for row in made if row.label == 3}
    assert claims


def test_a_lengthened_premise_still_holds_the_premise() -> None:
    assert "The engine hums." in lengthen("The engine hums.", [{"title": "T", "text": TEXT}], Random(4))


def test_no_source_is_non_commercial() -> None:
    assert not [name for name, (licence, _, _) in SOURCES.items() if re.search(r"\bNC\b|[Nn]one", licence)]
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
    scores = np.array([0.8] * 20 + [0.3] * 20)
    threshold, accuracy = best_threshold(scores, np.array([1] * 20 + [0] * 20), ["a"] * 40)
    assert accuracy == 1.0
    assert 0.3 < threshold <= 0.8
