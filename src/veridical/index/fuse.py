"""Joining ranked lists into one: by rank alone, or by score."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)
Ranked = Sequence[tuple[Item, float]]  # best first


def reciprocal_ranks(
    lists: Sequence[Ranked[Item]], weights: Sequence[float], constant: float = 60
) -> list[tuple[Item, float]]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): the sum of weight / (constant + rank)."""
    scores: dict[Item, list[float]] = {}
    for ranked, weight in zip(lists, weights, strict=True):
        for rank, (item, _) in enumerate(ranked, start=1):
            scores.setdefault(item, []).append(weight / (constant + rank))
    return _best_first(scores)


def _best_first(scores: dict[Item, list[float]]) -> list[tuple[Item, float]]:
    # Sorting before adding makes the sum, and so the order, independent of the order of the lists.
    totals = [(item, sum(sorted(parts))) for item, parts in scores.items()]
    return sorted(totals, key=lambda pair: (-pair[1], str(pair[0])))


def join(lexical: Ranked[Item], dense: Ranked[Item], dense_weight: float) -> list[tuple[Item, float]]:
    """One ranking of two; with one of them empty, the other as it is."""
    if not lexical or not dense:
        return list(lexical or dense)
    return reciprocal_ranks([lexical, dense], [1 - dense_weight, dense_weight])
