"""The retriever contract, asked of the fake, of the embedded index in each of its modes, and of it reranked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from contract.retriever_suite import RetrieverSuite
from veridical.index import Entry, Index, SearchOptions
from veridical.index.rerank import Reranked
from veridical.models.fake import FakeEmbedder, FakeRetriever
from veridical.ports import Retriever
from veridical.text.passages import searchable_text
from veridical.types import Document, Passage, Span


def passage_of(name: str, uri: str, title: str, text: str) -> Passage:
    return Passage(f"{name}#0", name, text, Span(0, len(text)), title, uri)


class TestFake(RetrieverSuite):
    def make(self, folder: Path, documents: Sequence[tuple[str, str, str, str]]) -> Retriever:
        return FakeRetriever([passage_of(*row) for row in documents])


class IndexSuite(RetrieverSuite):
    options = SearchOptions()

    @pytest.fixture
    def retriever(self, tmp_path: Path) -> Iterator[Retriever]:
        made = self.make(tmp_path, [*self.documents()])
        yield made
        made.close()

    def documents(self) -> Sequence[tuple[str, str, str, str]]:
        from contract.retriever_suite import DOCUMENTS

        return DOCUMENTS

    def make(self, folder: Path, documents: Sequence[tuple[str, str, str, str]]) -> Index:
        embedder = FakeEmbedder(dimensions=64)
        index = Index.open(folder, embedder, options=self.options, create=True)
        entries = []
        for name, uri, title, text in documents:
            passage = passage_of(name, uri, title, text)
            vectors = asyncio.run(embedder.embed([searchable_text(passage)]))
            entries.append(Entry(uri, Document(name, uri, title, text), [passage], vectors))
        with index.writer() as writer:
            writer.put(entries)
        return index


class TestHybrid(IndexSuite):
    options = SearchOptions(mode="hybrid")


class TestLexical(IndexSuite):
    options = SearchOptions(mode="lexical")


class TestDense(IndexSuite):
    options = SearchOptions(mode="dense")


class Shorter:
    """A scorer: the fewer words of a passage the query lacks, the better."""

    async def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        return [1 / (1 + len(set(text.lower().split()) - set(query.lower().split()))) for query, text in pairs]


class TestReranked(IndexSuite):
    @pytest.fixture
    def retriever(self, tmp_path: Path) -> Iterator[Retriever]:
        made = self.make(tmp_path, [*self.documents()])
        yield Reranked(made, Shorter(), candidates=2)
        made.close()


class TestRerankedFake(RetrieverSuite):
    def make(self, folder: Path, documents: Sequence[tuple[str, str, str, str]]) -> Retriever:
        return Reranked(FakeRetriever([passage_of(*row) for row in documents]), Shorter())
