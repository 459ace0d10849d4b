"""What every retriever promises. A subclass names `make`, which takes documents as (id, uri, title, text)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from veridical.ports import Retriever
from veridical.types import Filter, Passage

DOCUMENTS = [
    ("light", "/kb/coast/light.md", "Lighthouse", "The lighthouse of Brenn was lit with whale oil."),
    ("bridge", "/kb/town/bridge.md", "Bridge", "The bridge over the Aar carries carts and sheep."),
    ("bread", "/kb/town/bread.md", "Bread", "Bread needs flour, water and salt, and a warm oven."),
    ("oil", "/kb/coast/oil.md", "Oil", "Whale oil was sold in barrels at the harbour of Brenn."),
]


class RetrieverSuite:
    def make(self, folder: Path, documents: Sequence[tuple[str, str, str, str]]) -> Retriever:
        raise NotImplementedError

    @pytest.fixture
    def retriever(self, tmp_path: Path) -> Retriever:
        return self.make(tmp_path, DOCUMENTS)

    def ask(self, retriever: Retriever, *queries: str, k: int = 3, where: Filter | None = None) -> list[list[Passage]]:
        return [list(answer) for answer in asyncio.run(retriever.search(queries, k, where))]

    def test_one_list_a_query_in_order(self, retriever: Retriever) -> None:
        answers = self.ask(retriever, "bread flour oven", "bridge carts sheep")
        assert [answer[0].document_id for answer in answers] == ["bread", "bridge"]

    def test_best_first_and_at_most_k(self, retriever: Retriever) -> None:
        for k in (1, 2, 3):
            (answer,) = self.ask(retriever, "whale oil of Brenn", k=k)
            assert 1 <= len(answer) <= k
            scores = [passage.score for passage in answer]
            assert scores == sorted(scores, reverse=True)

    def test_passages_name_their_place(self, retriever: Retriever) -> None:
        ((passage,),) = self.ask(retriever, "bread flour oven", k=1)
        text = DOCUMENTS[2][3]
        assert (passage.title, passage.uri) == ("Bread", "/kb/town/bread.md")
        assert passage.span.of(text) == passage.text

    def test_no_passage_twice(self, retriever: Retriever) -> None:
        (answer,) = self.ask(retriever, "whale oil bread bridge lighthouse", k=10)
        assert len({passage.id for passage in answer}) == len(answer)

    def test_a_filter_holds(self, retriever: Retriever) -> None:
        (answer,) = self.ask(retriever, "whale oil bread bridge", k=10, where=Filter(path="/kb/town/*"))
        assert {passage.document_id for passage in answer} == {"bridge", "bread"}

    def test_no_queries_no_answers(self, retriever: Retriever) -> None:
        assert self.ask(retriever) == []

    def test_an_empty_question_finds_nothing(self, retriever: Retriever) -> None:
        assert self.ask(retriever, "", "bread")[0] == []

    def test_asking_twice_gives_the_same(self, retriever: Retriever) -> None:
        assert self.ask(retriever, "whale oil") == self.ask(retriever, "whale oil")
