"""What the relevance scorer makes of the first candidates of a hybrid search, on public collections."""

from __future__ import annotations

import asyncio
import gzip
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Setup, data_folder, records
from benchmarks.retrieval import Collection, added, as_collection, read_collections
from benchmarks.scored import Scored
from veridical.engine import build
from veridical.index.rerank import Reranked
from veridical.metrics.retrieval import ndcg_at, recall_at
from veridical.models.relevance import Relevance
from veridical.settings import Settings
from veridical.training.judge_data import share
from veridical.types import Filter, Passage

CANDIDATES = (10, 20)
WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0)
MANY = 100  # queries from which a set is tested; the smaller ones help to choose
_DEPTH = 100
_READ = 5  # passages that `ask` gives to its writer
_SEED, _SAMPLES = 7, 10_000
_TIMED = 20
_DEV_QUERIES, _SQUAD_QUERIES = 120, 80


@dataclass(frozen=True, slots=True)
class Found:
    """What hybrid search found for the queries of a collection; a retriever that knows nothing else."""

    collection: Collection
    passages: tuple[tuple[Passage, ...], ...]

    async def search(self, queries: Sequence[str], k: int, _where: Filter | None = None) -> Sequence[Sequence[Passage]]:
        known = dict(zip(self.collection.queries, self.passages, strict=True))
        return [known[query][:k] for query in queries]

    def ndcg(self, scorer: Scored | None = None, candidates: int = 0, weight: float = 0.0) -> NDArray[np.float64]:
        """nDCG@10 a query, reranked when there is a scorer."""
        pairs = zip(self._ranked(scorer, candidates, weight), self.collection.relevant, strict=True)
        return np.array([ndcg_at(10, _documents(passages), relevant) for passages, relevant in pairs])

    def recall(self, scorer: Scored | None = None, candidates: int = 0, weight: float = 0.0) -> NDArray[np.float64]:
        """The share of the relevant documents that an answer from the first five passages has seen, a query."""
        pairs = zip(self._ranked(scorer, candidates, weight), self.collection.relevant, strict=True)
        return np.array([recall_at(_DEPTH, _documents(passages[:_READ]), relevant) for passages, relevant in pairs])

    def _ranked(self, scorer: Scored | None, candidates: int, weight: float) -> Sequence[Sequence[Passage]]:
        if scorer is None:
            return self.passages
        return asyncio.run(Reranked(self, scorer, candidates, weight).search(self.collection.queries, _DEPTH))


@dataclass(frozen=True, slots=True)
class Gain:
    """Of a figure through reranking: means, and the paired bootstrap interval (95 %, over queries) of the change."""

    name: str
    queries: int
    before: float
    after: float
    low: float
    high: float

    @property
    def mean(self) -> float:
        return self.after - self.before

    @property
    def row(self) -> tuple[str, ...]:
        return f"{self.before:.4f}", f"{self.after:.4f}", f"{self.mean:+.4f} ({self.low:+.4f} … {self.high:+.4f})"


def find(setup: Setup, collection: Collection) -> Found:
    async def search(folder: Path) -> Sequence[Sequence[Passage]]:
        async with build(Settings(index=str(folder))) as engine:
            return await (await engine.index()).search(collection.queries, _DEPTH)

    found = asyncio.run(search(added(setup, collection)))
    return Found(collection, tuple(tuple(passages) for passages in found))


def tested(setup: Setup) -> Iterator[Found]:
    for collection in read_collections(setup):
        if setup.quick or len(collection.queries) >= MANY:
            yield find(setup, collection)


def development(setup: Setup) -> Iterator[Found]:
    """The small sets, training queries of SciFact, and SQuAD questions about an article that training never saw."""
    if setup.quick:
        return
    folder = data_folder() / "retrieval" / "scifact"
    queries = Random(_SEED).sample(list(records(folder / "queries_train.jsonl.gz")), _DEV_QUERIES)
    yield find(setup, as_collection("scifact", folder / "corpus.jsonl.gz", queries))
    yield find(setup, _squad(setup))
    for collection in read_collections(setup):
        if len(collection.queries) < MANY:
            yield find(setup, collection)


def _squad(setup: Setup) -> Collection:
    rows = list(records(data_folder() / "qa_eval" / "squad2_dev_half.jsonl.gz"))
    ids = {text: f"squad{number}" for number, text in enumerate(dict.fromkeys(row["context"] for row in rows))}
    titles = {row["context"]: row["title"] for row in rows}
    corpus = setup.scratch / "squad.jsonl.gz"
    with gzip.GzipFile(corpus, "wb", mtime=0) as stream:
        for text, id_ in ids.items():
            stream.write(json.dumps({"_id": id_, "title": titles[text], "text": text}).encode() + b"\n")
    asked = {row["question"]: row for row in rows if row["answerable"] and share(row["title"]) < 0.2}
    queries = [{"_id": row["id"], "text": text, "relevant": {ids[row["context"]]: 1}} for text, row in asked.items()]
    return as_collection("squad", corpus, Random(_SEED).sample(queries, _SQUAD_QUERIES))


def gain(name: str, before: NDArray[np.float64], after: NDArray[np.float64]) -> Gain:
    change = after - before
    rng = np.random.default_rng(_SEED)
    means = np.array([change[rng.integers(len(change), size=len(change))].mean() for _ in range(_SAMPLES)])
    low, high = np.quantile(means, (0.025, 0.975))
    return Gain(name, len(change), float(before.mean()), float(after.mean()), float(low), float(high))


def cost_ms(found: Found, candidates: int) -> tuple[float, float]:
    """CPU and wall milliseconds that reranking adds to one query, in the median; nothing is remembered."""
    reranked = Reranked(found, Relevance(), candidates)
    cpu, wall = [], []
    for query in found.collection.queries[: _TIMED + 1]:
        began = time.process_time(), time.perf_counter()
        asyncio.run(reranked.search([query], 5))
        cpu.append(time.process_time() - began[0])
        wall.append(time.perf_counter() - began[1])
    return 1000 * statistics.median(cpu[1:]), 1000 * statistics.median(wall[1:])  # the first loads the model


def _documents(passages: Sequence[Passage]) -> list[str]:
    """In the order of their best passages; a near-duplicate left out for a passage comes right behind it."""
    names = [(hit.document_id, *(id_.rpartition(":")[0] for id_ in hit.also_in)) for hit in passages]
    return list(dict.fromkeys(document for each in names for document in each))
