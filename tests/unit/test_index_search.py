"""Filters, near-duplicates and odd questions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from unit.index_entries import entry, found, hits, open_index
from veridical.index import Index
from veridical.index.neardup import Fingerprinter, near_duplicates
from veridical.types import Filter

LONG = (
    "The harbour of Ostrava was rebuilt after the flood, and its long quay now carries a railway that brings grain "
    "from the hills to the ships; the keeper of the locks writes down every barge that passes through the gates."
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    index = open_index(tmp_path_factory.mktemp("library"))
    with index.writer() as writer:
        writer.put(
            [
                entry("a", "Tides in spring.", uri="/kb/sea/tides.md", tags=("sea", "x"), date=date(2020, 1, 1)),
                entry("b", "Tides in autumn.", uri="/kb/sea/deep/notes.txt", tags=("sea",), date=date(2021, 6, 1)),
                entry("c", "Tides on the moon.", uri="https://example.org/moon.html?x=1.pdf", media_type="text/html"),
                entry("d", "Tides of war.", uri="/kb/land/war.PDF", tags=("x",), date=date(2021, 6, 2)),
            ]
        )
    yield index
    index.close()


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Filter(), "abcd"),
        (Filter(path="sea"), "ab"),
        (Filter(path="/kb"), "abd"),
        (Filter(path="/kb/sea/"), "ab"),
        (Filter(path="/kb/se"), ""),
        (Filter(path="*.md"), "a"),
        (Filter(path="/kb/*/war*"), "d"),
        (Filter(path="tides.md"), "a"),
        (Filter(path="https://example.org"), "c"),
        (Filter(types=("pdf",)), "d"),
        (Filter(types=(".MD", "text/html")), "ac"),
        (Filter(types=("text/plain",)), "abd"),
        (Filter(after=date(2020, 1, 1)), "abd"),
        (Filter(after=date(2020, 1, 2), before=date(2021, 6, 1)), "b"),
        (Filter(tags=("sea", "x")), "a"),
        (Filter(path="sea", tags=("x",), before=date(2019, 1, 1)), ""),
    ],
)
@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid"])
def test_filters_are_exact(library: Index, where: Filter, expected: str, mode: str) -> None:
    assert sorted(found(library, "tides", where=where, mode=mode)) == [f"{name}#0" for name in expected]


def test_a_large_filter_finds_rare_documents_behind_many_better_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veridical.index.lexical._SMALL_SET", 3)
    with open_index(tmp_path) as index, index.writer() as writer:
        many = [entry(f"m{n}", f"tide tide tide {n} x{n}", uri=f"/kb/many/{n}.txt") for n in range(300)]
        few = [entry(f"f{n}", f"one tide among many other words {n} y{n}", uri=f"/kb/few/{n}.txt") for n in range(5)]
        writer.put(many + few)
        where = Filter(path="few")
        assert sorted(found(index, "tide", 5, where, "lexical")) == [f"f{n}#0" for n in range(5)]
        assert sorted(found(index, "tide", 5, where, "dense")) == [f"f{n}#0" for n in range(5)]


@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid"])
def test_copies_are_returned_once_and_named(tmp_path: Path, mode: str) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put(
            [entry("one", LONG), entry("two", LONG.replace("; the", ". The")), entry("other", "A barge on a hill.")]
        )
        writer.put([entry("three", LONG + " So it is told.")])
        answers = hits(index, "barge quay railway harbour", mode=mode)
        assert len(answers) == 2
        assert {frozenset((hit.id, *hit.also_in)) for hit in answers} == {
            frozenset(("one#0", "two#0", "three#0")),
            frozenset(("other#0",)),
        }
        assert index.stats().duplicates == 2
        writer.delete_documents(["one"])  # the head of the cluster: the others stay linked
        answers = hits(index, "barge quay railway harbour", mode=mode)
        assert {frozenset((hit.id, *hit.also_in)) for hit in answers} == {
            frozenset(("two#0", "three#0")),
            frozenset(("other#0",)),
        }
        assert index.check() == []


def test_many_copies_do_not_crowd_out_the_rest(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry(f"copy{n}", LONG) for n in range(230)])
        writer.put([entry("other", "A barge on a hill.")])
        assert len(found(index, "barge quay railway harbour", 2)) == 2
        writer.delete_documents([f"copy{n}" for n in range(229)])
        assert found(index, "harbour quay", 1) == ["copy229#0"]
        assert index.check() == []


def test_filtered_copies_are_not_named(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put(
            [entry("one", LONG, tags=("old",)), entry("two", LONG, tags=("new",)), entry("three", LONG, tags=("new",))]
        )
        (hit,) = hits(index, "barge quay", where=Filter(tags=("new",)))
        assert {hit.id, *hit.also_in} == {"two#0", "three#0"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rebuilt after the flood", "rebuilt in 1931 after the flood"),
        ("the flood", "no flood"),
        ("now carries", "never carries"),
        ("after the flood", "before the flood"),
        ("Ostrava", "Opava"),
        ("writes down every barge", "doesn't write down every barge"),
    ],
)
def test_texts_that_may_contradict_each_other_are_both_returned(tmp_path: Path, old: str, new: str) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry("one", LONG), entry("two", LONG.replace(old, new))])
        assert sorted(found(index, "harbour quay railway")) == ["one#0", "two#0"]


def test_numbers_that_change_places_are_a_difference() -> None:
    one = Fingerprinter().print_of(f"{LONG} It cost 5 crowns in 1931.")
    other = Fingerprinter().print_of(f"{LONG} It cost 1931 crowns in 5.")
    assert not near_duplicates(one, other)


def test_short_passages_are_copies_only_when_equal(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry("a", "see the next page"), entry("b", "see the next page!"), entry("c", "see the last page")])
        assert len(found(index, "see page")) == 2


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "?!",
        '"',
        "tides AND (",
        "title:tides^",
        "\x00\x07",
        "tides \ud83d",
        "-tides +",
        "[1 TO 2]",
        "潮汐",
        "*",
        "~" * 500,
    ],
)
def test_any_question_is_safe(library: Index, query: str) -> None:
    answers = asyncio.run(library.search([query, "tides"], 3))
    assert len(answers) == 2
    assert len(answers[1]) == 3


def test_a_huge_question_is_answered_by_its_rare_words(library: Index) -> None:
    filler = " ".join(f"w{n}" for n in range(20_000))
    assert found(library, f"{filler} moon", mode="lexical") == ["c#0"]


def test_no_results_wanted_or_nothing_asked(library: Index) -> None:
    assert asyncio.run(library.search([], 5)) == []
    assert asyncio.run(library.search(["tides"], 0)) == [[]]


def test_an_empty_index_answers_nothing(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        assert asyncio.run(index.search(["anything"], 5)) == [[]]
        assert index.check() == []


def test_titles_and_stems_are_searched(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry("a", "It is wet.", title="Déjà vu of swimming"), entry("b", "It is dry.")])
        assert found(index, "swims deja", mode="lexical") == ["a#0"]
