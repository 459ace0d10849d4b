"""Dense search against the bare int8 scan that it rests on, exact float32 search, and LlamaIndex's default store."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import numkong
import numpy as np

from benchmarks import built, corpus, peers
from benchmarks.datasets import Setup
from benchmarks.report import AT_LEAST, AT_MOST, Figure, Section, unmeasured
from benchmarks.timing import Times, compare, measure
from veridical.index.dense import Scan, quantise
from veridical.index.schema import connect
from veridical.index.store import Store
from veridical.index.writer import Identity
from veridical.models.embed import MiniLm
from veridical.ports import Vectors

K = 10
_QUERIES = 300
_PEER_QUERIES = 5  # each takes seconds there
_CHUNK = 50  # queries a matrix product of the exact search


def run(setup: Setup) -> Section:
    passages = corpus.build(setup)
    folder, _ = built.build(setup, passages)
    vectors = built.clustered(passages.size)
    queries = built.near(vectors, _QUERIES)
    search = _open(folder)
    return Section(
        name="dense",
        title="Dense search",
        page="engine",
        how=f"CPU time a query, {len(queries)} queries near random points, the best {K} of {len(vectors):,} synthetic "
        f"vectors of {vectors.shape[1]} numbers around 1,000 centres. Contestants take turns on every query; median of "
        "three rounds.",
        figures=(
            *_against_scan(search, vectors, queries),
            _recall(search, vectors, queries),
            *_against_llama_index(search, vectors, queries[:_PEER_QUERIES]),
        ),
        notes=(
            "The bare scan is one NumKong call that multiplies the query with all codes; it chooses no best ones.",
            "Recall is measured against exact search over the float32 vectors; the index keeps them as float16.",
        ),
    )


def _open(folder: Path) -> Callable[[Vectors], list[int]]:
    """The index's own dense search: places in the corpus, best first."""
    embedder = MiniLm()
    store = Store(connect(folder), folder)
    number = store.embedder_number(embedder.fingerprint)
    scan = Scan(Identity(folder, embedder.fingerprint, embedder.dimensions).dense, embedder.dimensions)
    if scan.refresh() < 0:
        raise RuntimeError(f"{folder} holds no vectors")

    def exact(rows: Sequence[int]) -> Vectors:
        return store.vectors_at(rows, number, embedder.dimensions)

    return lambda query: [row - 1 for row, _ in scan.search(query, K, exact)]


def _against_scan(search: Callable[[Vectors], object], vectors: Vectors, queries: Vectors) -> list[Figure]:
    codes, scales = quantise(vectors)

    def scan(query: Vectors) -> object:
        code, _ = quantise(query.reshape(1, -1))
        return numkong.cdist(code, codes, "dot", out_dtype="float32")

    def scan_and_choose(query: Vectors) -> object:
        scores = np.asarray(scan(query))[0] * scales
        return np.argpartition(scores, len(scores) - K)[len(scores) - K :]

    contestants = {"bare int8 scan": scan, "int8 scan and argpartition": scan_and_choose, "veridical": search}
    times = compare(contestants, list(queries))
    ratio = times["veridical"].p50 / times["bare int8 scan"].p50
    mean = times["veridical"].mean / times["bare int8 scan"].mean
    return [
        *(_time(name, one) for name, one in times.items()),
        Figure("veridical / bare int8 scan (p50)", ratio, "×", AT_MOST, 1.5, f"{mean:.2f}× by the mean"),
    ]


def _time(name: str, times: Times) -> Figure:
    return Figure(f"{name}, p50", times.p50, "ms CPU", note=f"mean {times.mean:.3f} ms")


def _recall(search: Callable[[Vectors], list[int]], vectors: Vectors, queries: Vectors) -> Figure:
    found = []
    for start in range(0, len(queries), _CHUNK):
        part = queries[start : start + _CHUNK]
        truth = np.argpartition(part @ vectors.T, -K, axis=1)[:, -K:]
        found += [len(set(search(query)) & set(best)) / K for query, best in zip(part, truth.tolist(), strict=True)]
    return Figure("recall@10 against exact float32", statistics.fmean(found), "", AT_LEAST, 0.999)


def _against_llama_index(search: Callable[[Vectors], object], vectors: Vectors, queries: Vectors) -> list[Figure]:
    peer = peers.llama_index_vectors(vectors, K)
    if peer is None:
        return [unmeasured("LlamaIndex SimpleVectorStore / veridical (p50)", peers.INSTALL)]
    theirs = measure(peer, list(queries), rounds=1)
    # Not in turns: seconds of theirs would leave our few milliseconds with cold caches, which no user has.
    ours = measure(search, list(queries), rounds=5)
    return [
        Figure("LlamaIndex SimpleVectorStore, p50", theirs.p50, "ms CPU", note=f"{len(queries)} queries"),
        Figure("LlamaIndex SimpleVectorStore / veridical (p50)", theirs.p50 / ours.p50, "×", AT_LEAST, 200),
    ]
