"""Whatever the text and however tokens are counted, passages rejoin to the document and keep to the limit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.corpus import chunk
from veridical.corpus.tokens import CountTokens, count_words
from veridical.types import Document, Heading, Passage


def count_characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def count_unevenly(texts: Sequence[str]) -> list[int]:
    """Not additive, as byte-pair encodings are not: a text costs more than its pieces."""
    return [len(text.split()) + len(text) // 50 for text in texts]


_WORDS = st.sampled_from(
    [
        "the",
        "harbour",
        "wall.",
        "Dr.",
        "rose",
        "in",
        "1851!",
        "这是第一句。",
        "第二句很长",
        "هذه",
        "جملة.",
        "e\u0301a",
        "\t",
        "x" * 300,
    ]
)
_GAPS = st.sampled_from([" ", "\n", "\n\n", "\n \n\n", "  ", "\n- ", ""])
_TEXTS = st.lists(st.tuples(_WORDS, _GAPS), max_size=80).map(lambda pairs: "".join(a + b for a, b in pairs)) | st.text(
    max_size=300
)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(_TEXTS)
    starts = draw(st.lists(st.integers(0, len(text)), max_size=6, unique=True).map(sorted))
    paths = st.lists(st.sampled_from(["A", "B", "C"]), max_size=3).map(tuple)
    headings = tuple(Heading(start, draw(paths)) for start in starts)
    pages = tuple(draw(st.lists(st.integers(0, len(text)), max_size=4).map(sorted)))
    return Document("d", "/d.txt", "D", text, headings=headings, pages=pages)


_COUNTERS = pytest.mark.parametrize("count", [count_words, count_characters, count_unevenly])


@_COUNTERS
@settings(deadline=None, max_examples=150)
@given(document=documents(), limit=st.integers(8, 40))
def test_passages_rejoin_to_the_document(count: CountTokens, document: Document, limit: int) -> None:
    passages = chunk(document, limit, count)
    end = 0
    for passage in passages:
        assert passage.text == passage.span.of(document.text)
        assert passage.text == passage.text.strip() != ""
        assert passage.span.start >= end
        assert not document.text[end : passage.span.start].strip()
        end = passage.span.end
    assert not document.text[end:].strip()


@_COUNTERS
@settings(deadline=None, max_examples=150)
@given(document=documents(), limit=st.integers(8, 40))
def test_no_passage_is_over_the_limit(count: CountTokens, document: Document, limit: int) -> None:
    passages = chunk(document, limit, count)
    assert all(tokens <= limit for tokens in count([passage.text for passage in passages]))
    assert passages == chunk(document, limit, count)


@settings(deadline=None, max_examples=100)
@given(document=documents(), limit=st.integers(8, 40))
def test_passages_know_their_heading_and_page(document: Document, limit: int) -> None:
    for ordinal, passage in enumerate(chunk(document, limit, count_words)):
        assert passage.id == f"d:{ordinal}"
        at_start = _heading_at(document, passage)
        within = {h.path for h in document.headings if passage.span.start < h.start < passage.span.end}
        assert passage.heading[: len(at_start)] == at_start  # the same, or further down the same path
        assert passage.heading in {at_start, *within}
        begun = [number for number, start in enumerate(document.pages, start=1) if start <= passage.span.start]
        assert passage.page == (max(begun, default=1) if document.pages else None)


def _heading_at(document: Document, passage: Passage) -> tuple[str, ...]:
    before = [heading.path for heading in document.headings if heading.start <= passage.span.start]
    return before[-1] if before else ()
