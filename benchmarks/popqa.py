"""Questions of PopQA with passages retrieved for them, labelled in the three ways that `relevance` reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from benchmarks.scored import Scored
from veridical.models.pairs import Pair
from veridical.training.judge_data import plain
from veridical.training.judge_tests import area_under_roc, calibration_error
from veridical.training.relevance_data import holds, names, popqa_passages

SEED = 7


@dataclass(frozen=True, slots=True)
class Labelled:
    """What is to be told apart: `right[i]` says of the pairs of `cases[i]` whether any of them is relevant."""

    cases: tuple[tuple[Pair, ...], ...]
    right: NDArray[np.bool_]

    def scores(self, scorer: Scored) -> NDArray[np.float64]:
        """One score a case: that of its best pair."""
        flat = iter(scorer.score_now([pair for case in self.cases for pair in case]))
        return np.array([max([next(flat) for _ in case]) for case in self.cases])


@dataclass(frozen=True, slots=True)
class Accuracy:
    cases: int
    relevant: float  # share of the cases
    at_half: float
    threshold: float  # the best on the half of PopQA that is not tested
    at_threshold: float
    auc: float
    ece: float


def label_sets(data: Path, *, held_out: bool, most: int) -> dict[str, Labelled]:
    """By name, from a fixed sample of at least `most` pairs, or all there are."""
    found = list(popqa_passages(data, held_out=held_out))
    rng = Random(SEED)
    titled = _titled(found, most, rng)
    asked: dict[str, list[tuple[Pair, bool]]] = {}
    for question, subject, answers, title, text in found:
        whole = f"{title}. {text}" if title else text
        asked.setdefault(question, []).append(((question, whole), holds(text, answers) and names(whole, subject)))
    order = sorted(asked)
    rng.shuffle(order)
    questions: list[str] = []
    while order and sum(len(asked[question]) for question in questions) < most * 3 // 2:
        questions.append(order.pop())
    passages = [row for question in questions for row in asked[question]]
    return {
        "title": titled,
        "answer": Labelled(tuple((pair,) for pair, _ in passages), np.array([right for _, right in passages])),
        "retrieval": Labelled(
            tuple(tuple(pair for pair, _ in asked[question]) for question in questions),
            np.array([any(right for _, right in asked[question]) for question in questions]),
        ),
    }


def _titled(found: Sequence[tuple[str, str, Sequence[str], str, str]], most: int, rng: Random) -> Labelled:
    """CRAG's training labels: the passage's title is the subject, or the passage was retrieved for another one."""
    pairs: list[Pair] = []
    own = [row for row in found if plain(row[3]) and plain(row[3]) == plain(row[1])]
    own = rng.sample(own, min(len(own), most // 2))
    for question, _, _, title, text in own:
        pairs.append((question, f"{title}. {text}"))
    for question, subject, _, _, _ in own:
        other = rng.choice(found)
        while plain(other[1]) == plain(subject) or not other[3]:
            other = rng.choice(found)
        pairs.append((question, f"{other[3]}. {other[4]}"))
    right = np.arange(len(pairs)) < len(own)
    return Labelled(tuple((pair,) for pair in pairs), right)


def measure(data: Path, scorer: Scored, most: int) -> dict[str, Accuracy]:
    """Of each label set: accuracy on the held-out half, at 0.5 and at the threshold that is best on the other."""
    tested, tuned = (label_sets(data, held_out=held, most=n) for held, n in ((True, most), (False, most // 2)))
    figures = {}
    for name, labelled in tested.items():
        threshold = _best_threshold(tuned[name].scores(scorer), tuned[name].right)
        scores, right = labelled.scores(scorer), labelled.right
        figures[name] = Accuracy(
            len(right),
            float(right.mean()),
            float(((scores >= 0.5) == right).mean()),
            threshold,
            float(((scores >= threshold) == right).mean()),
            area_under_roc(scores, right.astype(int)),
            calibration_error(scores, right.astype(int)),
        )
    return figures


def _best_threshold(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    tried = np.arange(1, 100) / 100
    accuracy = [((scores >= threshold) == right).mean() for threshold in tried]
    return float(tried[int(np.argmax(accuracy))])
