"""Lexical search against tantivy called directly, a brute-force oracle and LlamaIndex's BM25 retriever."""

from __future__ import annotations

import re
import shutil
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tantivy

from benchmarks import built, corpus, peers
from benchmarks.datasets import Setup
from benchmarks.oracle import Oracle, overlap
from benchmarks.report import AT_LEAST, AT_MOST, Figure, Section, unmeasured
from benchmarks.timing import Times, compare
from veridical.index.lexical import STOP_WORDS, Lexical, body_of, make_analyzer
from veridical.index.library import Index
from veridical.index.records import SearchOptions
from veridical.types import Passage

K = 10
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Raw:
    """tantivy, called directly on an index of its own with the same text, analysis and key."""

    index: Any
    searcher: Any

    def parsed(self, question: str) -> list[int]:
        query = self.index.parse_query(question, ["body"])
        return self._rows(self.searcher.search(query, K, count=False).hits)

    def _rows(self, hits: Sequence[tuple[float, Any]]) -> list[int]:
        return list(self.searcher.fast_field_values("row", [address for _, address in hits]))

    def texts(self, question: str) -> list[str]:
        query = self.index.parse_query(question, ["body"])
        hits = self.searcher.search(query, K, count=False).hits
        return [self.searcher.doc(address)["text"][0] for _, address in hits]


def run(setup: Setup) -> Section:
    passages = corpus.build(setup)
    folder, _ = built.build(setup, passages)
    questions = corpus.questions()
    texts = [body_of(passage.title, passage.heading, passage.text) for passage in passages.passages()]
    ours = Lexical(folder / "lexical")
    ours.refresh()
    raw = _build_raw(setup.scratch / "raw-tantivy", texts, list(passages.passages()))
    with Index.open(folder) as index:
        return Section(
            name="lexical",
            title="Lexical search",
            page="engine",
            how=f"CPU time a question, {len(questions)} questions of Natural Questions, the best {K} of "
            f"{passages.words}. Contestants take turns on every question; median of three rounds.",
            figures=(
                *_against_tantivy(ours, raw, index, questions),
                *_against_oracle(ours, texts, questions),
                *_against_llama_index(ours, index, texts, questions),
            ),
            notes=(
                "tantivy parses the question itself, counts no matches, and has the same passages and analysis.",
                "Keys are passage numbers. Passages are texts: tantivy's from its document store, ours from SQLite.",
                "The oracle's ties count as equal: passages whose score is within 1e-5 of the tenth.",
                "Our search drops stop words from questions, so tantivy and the oracle get the questions without them.",
                "Equal stopwords: those that LlamaIndex's retriever or we drop are taken out for both.",
            ),
        )


def _against_tantivy(ours: Lexical, raw: _Raw, index: Index, questions: Sequence[str]) -> list[Figure]:
    plain = [" ".join(words) for words in _content_words(questions).values()]
    options = SearchOptions(mode="lexical")
    contestants: dict[str, Callable[[str], object]] = {
        "tantivy, keys": raw.parsed,
        "veridical, keys": lambda question: ours.search(question, K),
        "tantivy, passages": raw.texts,
        "veridical, passages": lambda question: index.find([question], None, K, options=options),
    }
    times = compare(contestants, plain)
    keys = times["veridical, keys"].p50 / times["tantivy, keys"].p50
    whole = times["veridical, passages"].p50 / times["tantivy, passages"].p50
    return [
        *(_time(name, one) for name, one in times.items()),
        Figure("veridical / tantivy, keys (p50)", keys, "×", AT_MOST, 1.3, _means(times, "keys")),
        Figure("veridical / tantivy, passages (p50)", whole, "×", note=_means(times, "passages")),
    ]


def _content_words(questions: Sequence[str], left_out: frozenset[str] = frozenset()) -> dict[str, list[str]]:
    """What our search looks for, so that all look for the same: each word once, no stop word of ours or `left_out`."""
    analyse = make_analyzer().analyze
    dropped = frozenset(analyse(STOP_WORDS))  # compared after stemming, as our search does: "doing" goes with "do"
    found = {}
    for question in questions:
        words = list(dict.fromkeys(_WORD.findall(question.lower())))
        kept = [word for word in words if not dropped.issuperset(analyse(word)) and word not in left_out]
        found[question] = kept or words
    return found


def _means(times: dict[str, Times], what: str) -> str:
    return f"{times[f'veridical, {what}'].mean / times[f'tantivy, {what}'].mean:.2f}× by the mean"


def _time(name: str, times: Times) -> Figure:
    return Figure(f"{name}, p50", times.p50, "ms CPU", note=f"mean {times.mean:.3f} ms")


def _against_oracle(ours: Lexical, texts: Sequence[str], questions: Sequence[str]) -> list[Figure]:
    oracle = Oracle(texts, _content_words(questions), make_analyzer().analyze)
    overlaps, differences = [], []
    for question in questions:
        scores = oracle.scores(question)
        hits = ours.search(question, K)
        places = [row - 1 for row, _ in hits]  # the index numbers passages from one, in the order of the corpus
        overlaps.append(overlap(places, scores, K))
        differences += [abs(score - scores[place]) / score for (_, score), place in zip(hits, places, strict=True)]
    return [
        Figure("top-10 overlap with the oracle", statistics.fmean(overlaps), "", AT_LEAST, 0.99),
        Figure("largest relative difference of a score", float(np.max(differences))),
    ]


def _against_llama_index(ours: Lexical, index: Index, texts: Sequence[str], questions: Sequence[str]) -> list[Figure]:
    search = peers.llama_index_bm25(texts, K)
    if search is None:
        return [unmeasured("LlamaIndex's BM25 retriever / veridical (p50)", peers.INSTALL)]
    left_out = peers.english_stopwords()
    equal = [" ".join(words) for words in _content_words(questions, left_out).values()]
    options = SearchOptions(mode="lexical")
    times = compare(
        {
            "LlamaIndex BM25": search,
            "veridical, keys, equal stopwords": lambda question: ours.search(question, K),
            "veridical, passages, equal stopwords": lambda question: index.find([question], None, K, options=options),
        },
        equal,
    )
    slowest = times["LlamaIndex BM25"].p50
    keys = slowest / times["veridical, keys, equal stopwords"].p50
    whole = slowest / times["veridical, passages, equal stopwords"].p50
    return [
        *(_time(name, one) for name, one in times.items()),
        Figure("LlamaIndex BM25 / veridical, passages (p50)", whole, "×", AT_LEAST, 4),
        Figure("LlamaIndex BM25 / veridical, keys (p50)", keys, "×", AT_LEAST, 4, "theirs are passages"),
    ]


def _build_raw(folder: Path, texts: Sequence[str], passages: Sequence[Passage]) -> _Raw:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("row", fast=True)
    builder.add_text_field("body", tokenizer_name="veridical", index_option="freq")
    builder.add_text_field("text", stored=True, tokenizer_name="raw", index_option="basic")
    index = tantivy.Index(builder.build(), path=str(folder))
    index.register_tokenizer("veridical", make_analyzer())
    writer = index.writer(heap_size=200_000_000, num_threads=1)
    for row, (text, passage) in enumerate(zip(texts, passages, strict=True), start=1):
        document = tantivy.Document()
        document.add_integer("row", row)
        document.add_text("body", text)
        document.add_text("text", passage.text)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return _Raw(index, index.searcher())
