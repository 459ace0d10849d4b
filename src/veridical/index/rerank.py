"""A retriever whose first candidates a cross-scorer reads again, each beside the query, and puts into a new order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from veridical.errors import ModelOutputInvalid, ModelUnavailable
from veridical.ports import CrossScorer, Retriever
from veridical.text.passages import searchable_text
from veridical.types import Filter, Passage

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
    candidates: int = 10
    weight: float = 0.5
    reads: Callable[[str], bool] = read_all

    async def search(self, queries: Sequence[str], k: int, where: Filter | None = None) -> Sequence[Sequence[Passage]]:
        """As the wrapped retriever promises. Raises ModelUnavailable and ModelOutputInvalid for the scorer's faults."""
        if k < 1:
            return [[] for _ in queries]
        found = await self.retriever.search(queries, max(k, self.candidates), where)
        scored = [self.reads(query) for query in queries]
        relevance = iter(
            await self._score(
                [
                    (query, searchable_text(passage))
                    for query, passages, wanted in zip(queries, found, scored, strict=True)
                    for passage in (passages[: self.candidates] if wanted else ())
                ]
            )
        )
        return [
            self._reorder(passages, [next(relevance) for _ in passages[: self.candidates]])[:k]
            if wanted
            else passages[:k]
            for passages, wanted in zip(found, scored, strict=True)
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

    def _reorder(self, passages: Sequence[Passage], relevance: Sequence[float]) -> list[Passage]:
        """Best first; of equals, the one that the retriever had first."""
        if not passages:
            return []
        best, low = passages[0].score, passages[len(relevance) - 1].score
        width = best - low or 1.0
        # What was not scored lies below the last candidate there, so it stays below them all here.
        shares = [*relevance, *[0.0] * (len(passages) - len(relevance))]
        rescored = [
            replace(passage, score=(1 - self.weight) * (passage.score - low) / width + self.weight * share)
            for passage, share in zip(passages, shares, strict=True)
        ]
        return sorted(rescored, key=lambda passage: -passage.score)
