"""Answers that are lists of entities (QAMPARI): which items are right, and how many of the gold ones are named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from veridical.metrics.normalise import drop_marks, normalise_answer

_ENOUGH = 5  # recall@5: five right answers are as good as all of them


@dataclass(frozen=True, slots=True)
class ListScores:
    """precision = right items / items; recall = gold answers named / |gold|; recall_5 = min(5, named) / min(5, |gold|).

    `f1` is the harmonic mean of precision and recall, `f1_5` that of precision and recall@5. Each is 0 where its
    denominator is.
    """

    precision: float
    recall: float
    recall_5: float
    items: int

    @property
    def f1(self) -> float:
        return _harmonic(self.precision, self.recall)

    @property
    def f1_5(self) -> float:
        return _harmonic(self.precision, self.recall_5)


def score_list(answer: str, golds: Sequence[Iterable[str]]) -> ListScores:
    """Compares the comma-separated items with the gold answers, each given by its aliases, all normalised.

    Marks are stripped. A repeated item counts each time in the precision and once in the recall, as in ALCE.
    """
    pieces = drop_marks(answer).rstrip().rstrip(".").rstrip(",").split(",")
    items = [item for item in map(normalise_answer, pieces) if item]
    aliases = [{normalise_answer(alias) for alias in gold} for gold in golds]
    right = sum(any(item in names for names in aliases) for item in items)
    named = sum(not names.isdisjoint(items) for names in aliases)
    return ListScores(
        precision=right / len(items) if items else 0.0,
        recall=named / len(aliases) if aliases else 0.0,
        recall_5=min(_ENOUGH, named) / min(_ENOUGH, len(aliases)) if aliases else 0.0,
        items=len(items),
    )


def _harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other) if one + other else 0.0
