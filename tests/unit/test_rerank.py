"""Reranking: what a scorer reads moves up, what it cannot help with stays, and its faults are errors with a way out."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from unit.kits import passage
from veridical.engine import build
from veridical.errors import ModelOutputInvalid, ModelUnavailable
from veridical.index.rerank import Reranked
from veridical.models.cross_encoder import CrossEncoder
from veridical.models.judge import LocalJudge
from veridical.models.relevance import Relevance
from veridical.settings import load
from veridical.text.language import looks_english
from veridical.types import Filter, Passage


class Ranked:
    """Finds the same passages for every query, in the order given."""

    def __init__(self, *passages: Passage) -> None:
        self.passages = passages
        self.asked: list[tuple[int, Filter | None]] = []

    async def search(self, queries: Sequence[str], k: int, where: Filter | None = None) -> Sequence[Sequence[Passage]]:
        self.asked.append((k, where))
        return [self.passages[:k] if query else () for query in queries]


class Scores:
    """Relevance by a word of the passage; everything else gets `other`."""

    def __init__(self, by_word: Mapping[str, float], other: float = 0.0) -> None:
        self.by_word, self.other = by_word, other
        self.pairs: list[tuple[str, str]] = []

    async def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        self.pairs += pairs
        return [next((v for word, v in self.by_word.items() if word in text), self.other) for _, text in pairs]


def found(*texts: str, best: float = 1.0) -> list[Passage]:
    return [replace(passage(n, text, f"Title {n}"), score=best - n / 10) for n, text in enumerate(texts)]


def ask(retriever: Reranked, query: str = "who?", k: int = 10, where: Filter | None = None) -> list[Passage]:
    (answer,) = asyncio.run(retriever.search([query], k, where))
    return list(answer)


def texts(passages: Sequence[Passage]) -> list[str]:
    return [one.text for one in passages]


def test_the_passage_that_answers_moves_up() -> None:
    reranked = Reranked(Ranked(*found("a", "b", "answer")), Scores({"answer": 1.0}), weight=0.7)
    assert texts(ask(reranked)) == ["answer", "a", "b"]
    assert texts(ask(reranked, k=1)) == ["answer"]


def test_weight_zero_keeps_the_order_and_weight_one_follows_the_scorer() -> None:
    scorer = Scores({"c": 0.9, "b": 0.5, "a": 0.1})
    assert texts(ask(Reranked(Ranked(*found("a", "b", "c")), scorer, weight=0.0))) == ["a", "b", "c"]
    assert texts(ask(Reranked(Ranked(*found("a", "b", "c")), scorer, weight=1.0))) == ["c", "b", "a"]


def test_equals_keep_the_retrievers_order() -> None:
    same = [replace(one, score=0.5) for one in found("a", "b", "c")]
    assert texts(ask(Reranked(Ranked(*same), Scores({}, other=0.4)))) == ["a", "b", "c"]


@pytest.mark.parametrize("scale", [1.0, 1e-3, 40.0])
def test_the_retrievers_scale_does_not_matter(scale: float) -> None:
    passages = [replace(one, score=scale * one.score) for one in found("a", "b", "answer", "c")]
    reranked = Reranked(Ranked(*passages), Scores({"answer": 1.0}), weight=0.5)
    answer = ask(reranked)
    assert texts(answer) == ["answer", "a", "b", "c"]
    assert [one.score for one in answer] == pytest.approx([4 / 6, 3 / 6, 2 / 6, 0.0])


@pytest.mark.parametrize("relevance", [0.0, 1.0])
def test_what_was_not_scored_stays_behind_and_scores_fall(relevance: float) -> None:
    retriever = Ranked(*found("a", "b", "c", "d", "e"))
    scorer = Scores({"b": 0.9}, other=relevance)
    answer = ask(Reranked(retriever, scorer, candidates=2), k=5)
    assert set(texts(answer[:2])) == {"a", "b"}
    assert texts(answer[2:]) == ["c", "d", "e"]
    assert [one.score for one in answer] == sorted((one.score for one in answer), reverse=True)
    assert len(scorer.pairs) == 2


def test_the_retriever_gives_as_many_as_are_reranked_within_the_filter() -> None:
    retriever, where = Ranked(*found(*"abcdefgh")), Filter(path="/docs")
    assert len(ask(Reranked(retriever, Scores({}), candidates=6), k=2, where=where)) == 2
    assert retriever.asked == [(6, where)]
    assert len(ask(Reranked(retriever, Scores({}), candidates=3), k=7)) == 7


def test_the_scorer_reads_title_and_text() -> None:
    scorer = Scores({})
    ask(Reranked(Ranked(*found("a")), scorer))
    assert scorer.pairs == [("who?", "Title 0\na")]


def test_near_duplicates_stay_named() -> None:
    copied = [replace(one, also_in=("other:3",)) for one in found("a", "answer")]
    answer = ask(Reranked(Ranked(*copied), Scores({"answer": 1.0}), weight=0.9))
    assert [(one.text, one.also_in) for one in answer] == [("answer", ("other:3",)), ("a", ("other:3",))]


def test_many_queries_are_one_batch_and_empty_ones_find_nothing() -> None:
    scorer = Scores({"answer": 1.0})
    reranked = Reranked(Ranked(*found("a", "answer")), scorer, weight=0.9)
    answers = asyncio.run(reranked.search(["one", "", "two"], 5))
    assert [texts(answer) for answer in answers] == [["answer", "a"], [], ["answer", "a"]]
    assert asyncio.run(reranked.search([], 5)) == []
    assert [list(answer) for answer in asyncio.run(reranked.search(["one"], 0))] == [[]]


def test_a_query_the_scorer_cannot_read_keeps_the_retrievers_order_and_scores() -> None:
    scorer = Scores({"answer": 1.0})
    reranked = Reranked(Ranked(*found("a", "answer")), scorer, weight=0.9, reads=looks_english)
    question = "Wann wurde die Brücke über den Fluss eröffnet und von wem?"
    answers = asyncio.run(reranked.search([question, "Who opened the bridge?"], 5))
    assert [texts(answer) for answer in answers] == [["a", "answer"], ["answer", "a"]]
    assert list(answers[0]) == found("a", "answer")
    assert {query for query, _ in scorer.pairs} == {"Who opened the bridge?"}


# ── faults ───────────────────────────────────────────────────────────────────────────────────────


def test_a_missing_model_is_an_error_that_names_both_ways_out(tmp_path: Path) -> None:
    reranked = Reranked(Ranked(*found("a")), Relevance(CrossEncoder(tmp_path / "gone")))
    with pytest.raises(ModelUnavailable, match="manifest cannot be read") as caught:
        ask(reranked)
    assert "reinstall" in caught.value.fix
    assert "search.rerank=0" in caught.value.fix


@pytest.mark.parametrize("scores", [[math.nan], [math.inf], [], [0.1, 0.2]])
def test_scores_that_cannot_be_used_are_an_error(scores: list[float]) -> None:
    class Broken:
        async def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
            return scores

    with pytest.raises(ModelOutputInvalid, match=r"search\.rerank=0"):
        ask(Reranked(Ranked(*found("a")), Broken()))


# ── in the engine ────────────────────────────────────────────────────────────────────────────────


def test_the_engine_reranks_when_told_and_shares_the_judges_model(tmp_path: Path) -> None:
    async def run(rerank: int) -> tuple[bool, object]:
        async with build(load({"index": str(tmp_path / "kb"), "search.rerank": rerank}, {}).settings) as engine:
            await engine.add(tmp_path / "docs")
            retriever = await engine.retriever()
            judge = engine.judge
            assert isinstance(judge, LocalJudge)
            assert engine.relevance.encoder is judge.encoder
            return isinstance(retriever, Reranked), getattr(retriever, "candidates", None)

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bridge.md").write_text("The bridge opened in 1913.", encoding="utf-8")
    assert asyncio.run(run(0)) == (False, None)
    assert asyncio.run(run(7)) == (True, 7)


def test_claims_are_checked_without_reranking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a claim was reranked")

    async def run() -> int:
        settings = load({"index": str(tmp_path / "kb"), "search.rerank": 5, "verify.judge": "verbatim"}, {}).settings
        async with build(settings) as engine:
            await engine.add(tmp_path / "docs")
            return len((await engine.verify("The bridge opened in 1913.")).sources)

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bridge.md").write_text("The bridge opened in 1913.", encoding="utf-8")
    monkeypatch.setattr(Relevance, "score", refuse)
    assert asyncio.run(run()) == 1


@pytest.mark.slow
def test_a_real_search_puts_the_answer_first(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    written = {
        "asked": "When did the bridge open? Visitors ask when the bridge did open, and the bridge keeper never knows.",
        "answer": "Carts first crossed the river in May 1913, when the mayor opened the bridge.",
        "bread": "Bread needs flour, water and salt.",
    }
    for name, text in written.items():
        (tmp_path / "docs" / f"{name}.md").write_text(text, encoding="utf-8")

    async def first(rerank: int) -> list[str]:
        settings = load({"index": str(tmp_path / "kb"), "search.rerank": rerank}, {}).settings
        async with build(settings) as engine:
            await engine.add(tmp_path / "docs")
            return [Path(one.uri).stem for one in await engine.search("When did the bridge open?", 3)]

    plain, reranked = asyncio.run(first(0)), asyncio.run(first(10))
    assert plain[0] == "asked"
    assert sorted(reranked) == sorted(plain)
    assert reranked.index("answer") <= plain.index("answer")
    assert reranked[-1] == "bread"
