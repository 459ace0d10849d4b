"""Fusion ignores the order of its lists, keeps every item, and never turns a unanimous preference round."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from veridical.index.fuse import blend, join, reciprocal_ranks

SCORES = st.floats(-1, 30, allow_nan=False, width=32)
RANKED = st.dictionaries(st.integers(0, 40), SCORES, max_size=25).map(
    lambda scores: sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
)
WEIGHTED = st.lists(st.tuples(RANKED, st.floats(0.125, 2, width=16)), min_size=1, max_size=4)


@given(WEIGHTED, st.randoms())
def test_the_order_of_the_lists_does_not_matter(
    lists: list[tuple[list[tuple[int, float]], float]], rng: random.Random
) -> None:
    shuffled = list(lists)
    rng.shuffle(shuffled)
    for fuse in (reciprocal_ranks, lambda ranked, weights: blend(ranked, weights, [None] * len(ranked))):
        assert fuse(*zip(*lists, strict=True)) == fuse(*zip(*shuffled, strict=True))


@given(WEIGHTED)
def test_every_item_comes_out_once_best_first(lists: list[tuple[list[tuple[int, float]], float]]) -> None:
    ranked, weights = zip(*lists, strict=True)
    for fused in (reciprocal_ranks(ranked, weights), blend(ranked, weights, [None] * len(ranked))):
        items = [item for item, _ in fused]
        assert sorted(items) == sorted({item for each in ranked for item, _ in each})
        scores = [score for _, score in fused]
        assert scores == sorted(scores, reverse=True)


@given(RANKED, st.sampled_from(["scores", "ranks"]))
def test_a_list_joined_with_nothing_stays_as_it_is(ranked: list[tuple[int, float]], fusion: str) -> None:
    assert join(ranked, [], 0.5, fusion) == ranked  # type: ignore[arg-type]
    assert join([], ranked, 0.5, fusion) == ranked  # type: ignore[arg-type]


@given(RANKED, RANKED, st.sampled_from(["scores", "ranks"]))
def test_what_both_prefer_wins(one: list[tuple[int, float]], other: list[tuple[int, float]], fusion: str) -> None:
    best = [(99, 31.0)]
    assert join(best + one, best + other, 0.5, fusion)[0][0] == 99  # type: ignore[arg-type]


def test_a_lone_lexical_hit_counts_fully() -> None:
    dense = [("a", 0.9), ("b", 0.8), ("c", 0.1)]
    assert join([("b", 3.0)], dense, 0.5, "scores")[0][0] == "b"
