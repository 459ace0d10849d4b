"""What every writer promises, asked of the fake and of `quote`."""

from __future__ import annotations

import asyncio

import pytest

from veridical.models.embed import MiniLm
from veridical.models.fake import FakeEmbedder, FakeWriter
from veridical.models.quote import QuoteWriter
from veridical.ports import Writer
from veridical.text.claims import find_claims
from veridical.text.marks import parse_marks
from veridical.types import Passage, Span

QUESTION = "How tall is the lighthouse of Arnmouth?"
TEXTS = (
    "The harbour of Arnmouth was dredged twice. Fishing boats land their catch at dawn.",
    "The lighthouse of Arnmouth is 41 metres tall. It was painted red in 1930.",
)


def passages(*texts: str) -> tuple[Passage, ...]:
    return tuple(Passage(f"p{i}", f"d{i}", text, Span(0, len(text)), title="Arnmouth") for i, text in enumerate(texts))


@pytest.fixture(scope="module", params=["fake", "quote, fake embedder", "quote"])
def writer(request: pytest.FixtureRequest) -> Writer:
    if request.param == "fake":
        return FakeWriter()
    return QuoteWriter(MiniLm() if request.param == "quote" else FakeEmbedder(dimensions=256))


def test_a_draft_carries_the_passages_its_marks_name(writer: Writer) -> None:
    draft = asyncio.run(writer.write(QUESTION, passages(*TEXTS)))
    assert draft.passages == passages(*TEXTS)
    assert not draft.abstained
    marks = parse_marks(draft.text)
    assert marks
    assert all(1 <= mark <= len(TEXTS) for mark in marks)


def test_every_claim_is_cited(writer: Writer) -> None:
    draft = asyncio.run(writer.write(QUESTION, passages(*TEXTS)))
    assert all(claim.citations for claim in find_claims(draft))


def test_without_passages_it_abstains_and_says_why(writer: Writer) -> None:
    draft = asyncio.run(writer.write(QUESTION, ()))
    assert draft.text == ""
    assert draft.abstained


def test_passages_on_another_matter_make_it_abstain(writer: Writer) -> None:
    draft = asyncio.run(writer.write(QUESTION, passages("Knead the dough.", "Yeast feeds on sugar.")))
    assert draft.text == ""
    assert draft.abstained


def test_the_same_question_gets_the_same_draft(writer: Writer) -> None:
    first, second = (asyncio.run(writer.write(QUESTION, passages(*TEXTS))) for _ in range(2))
    assert first == second
