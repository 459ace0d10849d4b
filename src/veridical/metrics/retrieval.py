"""How good a ranking is, given graded relevance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from veridical.metrics.normalise import normalise_case


def ndcg_at(k: int, ranking: Sequence[str], relevant: Mapping[str, float]) -> float:
    """DCG@k / ideal DCG@k with gain = grade and discount log2(rank + 1), as trec_eval's `ndcg_cut`.

    Zero when nothing is relevant.
    """
    gains = [max(relevant.get(document, 0.0), 0.0) for document in ranking[:k]]
    ideal = sorted((max(grade, 0.0) for grade in relevant.values()), reverse=True)[:k]
    best = _dcg(ideal)
    return _dcg(gains) / best if best else 0.0


def recall_at(k: int, ranking: Sequence[str], relevant: Mapping[str, float]) -> float:
    """|relevant ∩ ranking[:k]| / |relevant|, a document being relevant when its grade is above zero."""
    wanted = {document for document, grade in relevant.items() if grade > 0}
    return len(wanted & set(ranking[:k])) / len(wanted) if wanted else 0.0


def reciprocal_rank(ranking: Sequence[str], relevant: Mapping[str, float]) -> float:
    """1 / rank of the first relevant document, zero when there is none."""
    for rank, document in enumerate(ranking, 1):
        if relevant.get(document, 0.0) > 0:
            return 1.0 / rank
    return 0.0


def retrieval_accuracy(k: int, passages: Sequence[str], golds: Iterable[str]) -> float:
    """1 if a gold string is in one of the first k passages, lower-cased and without punctuation, else 0 (CoV-RAG)."""
    texts = [normalise_case(passage) for passage in passages[:k]]
    return float(any(gold in text for gold in map(normalise_case, golds) if gold for text in texts))


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
