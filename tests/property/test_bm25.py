"""The lexical index ranks as BM25 by brute force does, with lengths rounded to one byte as tantivy rounds them."""

from __future__ import annotations

import math
import random
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.index.lexical import Lexical, LexicalWriter, body_of, make_analyzer

K1, B = 1.2, 0.75


def rounded_lengths() -> list[int]:
    """The 256 lengths a byte can stand for: exact up to 40, then floating point with a mantissa of three bits."""
    lengths = []
    for byte in range(256):
        code = byte - 24
        mantissa, exponent = code & 7, (code >> 3) - 1
        lengths.append(byte if code < 0 else 24 + (mantissa if exponent < 0 else (mantissa | 8) << exponent))
    return lengths


LENGTHS = rounded_lengths()


class Oracle:
    """BM25 over every document, term by term."""

    def __init__(self, bodies: Sequence[str]) -> None:
        self.analyzer = make_analyzer()
        self.documents = [Counter(self.analyzer.analyze(body)) for body in bodies]
        totals = [sum(counts.values()) for counts in self.documents]
        self.mean = sum(totals) / len(totals)
        self.lengths = [LENGTHS[bisect_right(LENGTHS, total) - 1] for total in totals]
        self.holding = Counter(term for counts in self.documents for term in counts)

    def scores(self, query: str) -> list[float]:
        terms = dict.fromkeys(self.analyzer.analyze(query))
        return [sum(self.weight(term, place) for term in terms) for place in range(len(self.documents))]

    def weight(self, term: str, place: int) -> float:
        frequency, n = self.documents[place][term], self.holding[term]
        if not frequency:
            return 0.0
        idf = math.log(1 + (len(self.documents) - n + 0.5) / (n + 0.5))
        length = self.lengths[place]
        return idf * (K1 + 1) * frequency / (frequency + K1 * (1 - B + B * length / self.mean))


def ranked_by_tantivy(
    folder: Path, bodies: Sequence[str], queries: Sequence[str], batches: int
) -> list[list[tuple[int, float]]]:
    rows = [(place, place, "", "[]", body) for place, body in enumerate(bodies)]
    writer = LexicalWriter(folder)
    writer.rebuild([rows[:: batches + 1]], 1)
    for batch in range(batches):
        writer.apply([], [rows[batch + 1 :: batches + 1]], batch + 2, again=False)
    writer.close()
    lexical = Lexical(folder)
    assert lexical.refresh() == batches + 1
    return [lexical.search(query, 10) for query in queries]


def agree(hits: list[tuple[int, float]], scores: list[float]) -> bool:
    """Whether the hits are a top ten by the oracle's scores; ties may be broken either way."""
    best = sorted((score for score in scores if score > 0), reverse=True)[:10]
    return len(hits) == len(best) and all(
        math.isclose(score, wanted, rel_tol=1e-4) and math.isclose(scores[row], wanted, rel_tol=1e-4)
        for (row, score), wanted in zip(hits, best, strict=True)
    )


WORDS = st.sampled_from(
    ["ash", "birch", "cedar", "date", "elm", "fir", "gum", "hazel", "running", "Trees", "trees", "42"]
)
TEXTS = st.lists(WORDS, min_size=0, max_size=60).map(" ".join)


@settings(max_examples=25, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=30), st.lists(TEXTS, min_size=1, max_size=4), st.integers(0, 2))
def test_small_collections_rank_exactly(texts: list[str], queries: list[str], batches: int) -> None:
    bodies = [body_of("", [], text) for text in texts]
    oracle = Oracle(bodies)
    with tempfile.TemporaryDirectory() as folder:
        for query, hits in zip(queries, ranked_by_tantivy(Path(folder), texts, queries, batches), strict=True):
            assert agree(hits, oracle.scores(query))


@pytest.mark.slow
def test_a_larger_collection_overlaps_in_the_top_ten() -> None:
    """Lengths well above 40, where rounding matters, and words as skewed as in real text."""
    rng = random.Random(7)
    words = [f"w{n}" for n in range(3_000)]

    def text(length: int) -> str:
        return " ".join(words[int(len(words) * rng.random() ** 3)] for _ in range(length))

    texts = [text(rng.randrange(5, 400)) for _ in range(1_500)]
    queries = [text(rng.randrange(1, 12)) for _ in range(60)]
    oracle = Oracle([body_of("", [], body) for body in texts])
    with tempfile.TemporaryDirectory() as folder:
        ranked = ranked_by_tantivy(Path(folder), texts, queries, 3)
    right = [agree(hits, oracle.scores(query)) for query, hits in zip(queries, ranked, strict=True)]
    assert sum(right) >= 0.99 * len(right)
