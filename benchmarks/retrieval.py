"""Retrieval quality on public collections: lexical, dense and hybrid, ranked as `search --queries --run` ranks them."""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from benchmarks import built
from benchmarks.datasets import Setup, data_folder, records
from benchmarks.report import AT_LEAST, Figure, Section, Table
from veridical import Engine
from veridical.cli.trec import rank_documents
from veridical.corpus import CHUNKER_VERSION, beir, chunker_fingerprint
from veridical.errors import ConfigError
from veridical.index.library import Index
from veridical.index.records import Entry, Mode, SearchOptions
from veridical.index.schema import FORMAT
from veridical.metrics.retrieval import ndcg_at, recall_at
from veridical.models.embed import MiniLm
from veridical.ports import Vectors
from veridical.types import Filter, Passage, Span

MODES: tuple[Mode, ...] = ("lexical", "dense", "hybrid")
_DEPTH = 100
_MANY = 100  # queries from which a set counts for itself: below, a hundredth of nDCG is chance
_QUICK_DOCUMENTS, _QUICK_QUERIES = 200, 20


class _Searches(Protocol):
    def search_many(self, queries: Sequence[str], k: int, where: Filter | None) -> Sequence[Sequence[Passage]]: ...


@dataclass(frozen=True, slots=True)
class Collection:
    name: str
    corpus: Path
    queries: tuple[str, ...]
    relevant: tuple[Mapping[str, float], ...]
    query_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    ndcg: float
    recall_10: float
    recall_100: float


@dataclass(slots=True)
class _Given:
    """Searches an index with vectors of queries that were made beforehand."""

    index: Index
    vectors: Mapping[str, Vectors]
    mode: Mode
    options: SearchOptions = field(init=False)

    def __post_init__(self) -> None:
        self.options = SearchOptions(mode=self.mode)

    def search_many(self, queries: Sequence[str], k: int, where: Filter | None) -> Sequence[Sequence[Passage]]:
        vectors = np.stack([self.vectors[query] for query in queries])
        return self.index.find(queries, vectors, k, where, self.options)


def run(setup: Setup) -> Section:
    scores: dict[str, dict[Mode, Score]] = {}
    collections = {one.name: one for one in read_collections(setup)}
    given = []
    for name, collection in collections.items():
        vectors = _given_vectors(setup, name)
        scores[name] = _score_given(setup, collection, vectors) if vectors else _score_engine(setup, collection)
        given += [name] if vectors else []
    notes = ["Judgements are graded where the collection grades them; gain is the grade, as trec_eval's ndcg_cut."]
    if len(given) < len(collections):
        notes.append(
            "Documents are added as by `veridical add --beir`, cut into passages where long; the best one counts."
        )
    if given:
        notes.append(f"Vectors made beforehand, one a document (title and text up to 256 tokens): {', '.join(given)}.")
    return Section(
        name="retrieval",
        title="Retrieval quality",
        page="retrieval",
        how="nDCG@10 and recall of lexical, dense and hybrid search through the real index and embedder.",
        figures=_figures(scores, collections),
        tables=(_ndcg_table(scores, collections), _recall_table(scores)),
        notes=tuple(notes),
    )


# ── the collections ──────────────────────────────────────────────────────────────────────────────


def read_collections(setup: Setup) -> Iterator[Collection]:
    folder = data_folder() / "retrieval"
    found = [one for one in sorted(folder.iterdir()) if (one / "queries_test.jsonl.gz").is_file()]
    if not found:
        raise ConfigError(f"{folder} holds no collection", fix="a collection is NAME/{corpus,queries_test}.jsonl.gz")
    if setup.quick:
        yield _shortened(found[0], setup)
        return
    for one in found:
        yield as_collection(one.name, one / "corpus.jsonl.gz", list(records(one / "queries_test.jsonl.gz")))


def as_collection(name: str, corpus: Path, queries: Sequence[Mapping[str, Any]]) -> Collection:
    return Collection(
        name,
        corpus,
        tuple(query["text"] for query in queries),
        tuple(query["relevant"] for query in queries),
        tuple(query["_id"] for query in queries),
    )


def _shortened(folder: Path, setup: Setup) -> Collection:
    """A few documents and queries, to try the script; the scores mean nothing."""
    corpus = setup.scratch / f"quick-{folder.name}.jsonl.gz"
    documents = [one for one, _ in zip(records(folder / "corpus.jsonl.gz"), range(_QUICK_DOCUMENTS), strict=False)]
    with gzip.GzipFile(corpus, "wb", mtime=0) as stream:
        stream.writelines(json.dumps(document).encode() + b"\n" for document in documents)
    kept = {document["_id"] for document in documents}
    queries = [
        {**query, "relevant": {id_: grade for id_, grade in query["relevant"].items() if id_ in kept}}
        for query in records(folder / "queries_test.jsonl.gz")
    ]
    return as_collection(folder.name, corpus, [query for query in queries if query["relevant"]][:_QUICK_QUERIES])


# ── scoring ──────────────────────────────────────────────────────────────────────────────────────


def _score_engine(setup: Setup, collection: Collection) -> dict[Mode, Score]:
    folder = added(setup, collection)
    scores: dict[Mode, Score] = {}
    for mode in MODES:
        with Engine(folder, search__mode=mode) as engine:
            scores[mode] = _score(engine, collection)
    return scores


def added(setup: Setup, collection: Collection) -> Path:
    """The index of a collection. It is kept in scratch: embedding is minutes, and adding again is seconds."""
    key = f"{MiniLm().fingerprint}-{CHUNKER_VERSION}-{FORMAT}{'-quick' if setup.quick else ''}"
    folder = setup.scratch / "retrieval" / f"{collection.name}-{key}"
    with Engine(folder) as engine:
        engine.add_beir(collection.corpus)
    return folder


def _score(engine: _Searches, collection: Collection) -> Score:
    ranked = rank_documents(cast("Engine", engine), collection.queries, _DEPTH, None)
    rankings = [[hit.document for hit in hits] for hits in ranked]
    pairs = list(zip(rankings, collection.relevant, strict=True))
    return Score(
        statistics.fmean(ndcg_at(10, ranking, relevant) for ranking, relevant in pairs),
        statistics.fmean(recall_at(10, ranking, relevant) for ranking, relevant in pairs),
        statistics.fmean(recall_at(100, ranking, relevant) for ranking, relevant in pairs),
    )


def _given_vectors(setup: Setup, name: str) -> tuple[dict[str, Vectors], dict[str, Vectors]] | None:
    """By document id and by query id; None when the folder does not hold both."""
    if setup.vectors is None or setup.quick:
        return None
    parts = []
    for part in ("corpus", "queries_test"):
        file = setup.vectors / name / f"{part}.npy"
        if not file.is_file():
            return None
        ids = json.loads((setup.vectors / name / f"{part}.ids.json").read_text("utf-8"))
        parts.append(dict(zip(map(str, ids), np.load(file).astype(np.float32), strict=True)))
    return parts[0], parts[1]


def _score_given(
    setup: Setup, collection: Collection, vectors: tuple[dict[str, Vectors], dict[str, Vectors]]
) -> dict[Mode, Score]:
    of_documents, of_queries = vectors
    queries = {text: of_queries[id_] for id_, text in zip(collection.query_ids, collection.queries, strict=True)}
    with _given_index(setup, collection, of_documents) as index:
        return {mode: _score(_Given(index, queries, mode), collection) for mode in MODES}


@contextmanager
def _given_index(setup: Setup, collection: Collection, vectors: Mapping[str, Vectors]) -> Iterator[Index]:
    """An index of whole documents with the given vectors, in a fresh folder."""
    folder, embedder = setup.scratch / "retrieval-given", MiniLm()
    shutil.rmtree(folder, ignore_errors=True)
    entries = []
    for document in beir(collection.corpus):
        whole = Passage(
            f"{document.id}:0", document.id, document.text, Span(0, len(document.text)), document.title, document.uri
        )
        entries.append(Entry(str(collection.corpus), document, [whole], vectors[document.id].reshape(1, -1)))
    built.fill(folder, entries, embedder)
    fingerprint = chunker_fingerprint(built.read_options())
    with Index.open(folder, embedder, chunker_fingerprint=fingerprint) as index:
        yield index
    shutil.rmtree(folder)


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def _figures(scores: Mapping[str, Mapping[Mode, Score]], collections: Mapping[str, Collection]) -> tuple[Figure, ...]:
    mean = {mode: statistics.fmean(one[mode].ndcg for one in scores.values()) for mode in MODES}
    gains = {name: _gain(one) for name, one in scores.items()}
    counting = {name: gain for name, gain in gains.items() if len(collections[name].queries) >= _MANY}
    ahead = mean["hybrid"] - max(mean["lexical"], mean["dense"])
    figures = [
        *(Figure(f"mean nDCG@10, {mode}", mean[mode]) for mode in MODES),
        Figure("hybrid − the better of the two means", ahead, "", AT_LEAST, 0.0),
        Figure("hybrid − the better of the two on each set, mean", statistics.fmean(gains.values()), "", AT_LEAST, 0.0),
    ]
    if counting:
        worst = min(counting, key=lambda name: counting[name])
        name = f"the same, worst set of at least {_MANY} queries"
        figures.append(Figure(name, counting[worst], "", AT_LEAST, -0.01, worst))
    return tuple(figures)


def _gain(scores: Mapping[Mode, Score]) -> float:
    return scores["hybrid"].ndcg - max(scores["lexical"].ndcg, scores["dense"].ndcg)


def _ndcg_table(scores: Mapping[str, Mapping[Mode, Score]], collections: Mapping[str, Collection]) -> Table:
    columns = ("nDCG@10", "queries", *MODES, "hybrid − better")
    rows = []
    for name, one in scores.items():
        ndcg = [f"{one[mode].ndcg:.4f}" for mode in MODES]
        rows.append((name, f"{len(collections[name].queries):,}", *ndcg, f"{_gain(one):+.4f}"))
    return Table(columns, tuple(rows))


def _recall_table(scores: Mapping[str, Mapping[Mode, Score]]) -> Table:
    columns = ("recall", *(f"{mode} @{k}" for k in (10, 100) for mode in MODES))
    rows = [
        (
            name,
            *(f"{one[mode].recall_10:.3f}" for mode in MODES),
            *(f"{one[mode].recall_100:.3f}" for mode in MODES),
        )
        for name, one in scores.items()
    ]
    return Table(columns, tuple(rows))
