"""A retriever whose first candidates a cross-scorer reads again, each beside the query, and puts into a new order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from veridical.errors import ModelOutputInvalid, ModelUnavailable
from veridical.ports import CrossScorer, Retriever
from veridical.text.passages import searchable_text
from veridical.types import Filter, Passage

# Chosen on queries that no benchmark tests; docs/results/relevance.md has the gains of others.
CANDIDATES = 10
WEIGHT = 0.5
_WITHOUT = "search without it: --set search.rerank=0"


def read_all(_query: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Reranked:
    """Filters and near-duplicates are the wrapped retriever's; so is the order behind the first `candidates`.

    `weight` is the share of the scorer in a score, the rest is the retriever's own, stretched so that its best
    candidate has 1 and its last 0. A query that the scorer cannot read (`reads`) keeps the retriever's order.
    """

    retriever: Retriever
    scorer: CrossScorer
    candidates: int = CANDIDATES
    weight: float = WEIGHT
    reads: Callable[[str], bool] = read_all

    async def search(self, queries: Sequence[str], k: int, where: Filter | None = None) -> Sequence[Sequence[Passage]]:
        """As the wrapped retriever promises. Raises ModelUnavailable and ModelOutputInvalid for the scorer's faults."""
        if k < 1:
            return [[] for _ in queries]
        found = await self.retriever.search(queries, max(k, self.candidates), where)
        heads = [
            passages[: self.candidates] if self.reads(query) else ()
            for query, passages in zip(queries, found, strict=True)
        ]
        pairs = [(query, searchable_text(one)) for query, head in zip(queries, heads, strict=True) for one in head]
        scores = iter(await self._score(pairs))
        return [
            self._reorder(passages, [next(scores) for _ in head])[:k]
            for passages, head in zip(found, heads, strict=True)
        ]

    async def _score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        if not pairs:
            return []
        try:
            scores = await self.scorer.score(pairs)
        except ModelUnavailable as error:
            raise ModelUnavailable(error.message, fix=f"{error.fix}; or {_WITHOUT}") from error
        if len(scores) != len(pairs) or not all(map(math.isfinite, scores)):
            raise ModelOutputInvalid("the reranker did not give every passage a number", fix=_WITHOUT)
        return scores

    def _reorder(self, passages: Sequence[Passage], relevance: Sequence[float]) -> Sequence[Passage]:
        """Best first; of equals, the one that the retriever had first. Nothing scored, nothing changed."""
        if not relevance:
            return passages
        best, low = passages[0].score, passages[len(relevance) - 1].score
        width = best - low or 1.0
        # What was not scored lies below the last candidate there, so it stays below them all here.
        shares = [*relevance, *[0.0] * (len(passages) - len(relevance))]
        rescored = [
            replace(passage, score=(1 - self.weight) * (passage.score - low) / width + self.weight * share)
            for passage, share in zip(passages, shares, strict=True)
        ]
        return sorted(rescored, key=lambda passage: -passage.score)
