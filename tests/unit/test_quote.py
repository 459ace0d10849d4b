"""`quote` picks the sentences that answer, verbatim, and abstains when none does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from veridical.models.embed import MiniLm
from veridical.models.quote import Quote, QuoteWriter, choose
from veridical.models.quote.expected import Kind, kind_of, numbers_in, offers
from veridical.models.quote.features import find_candidates, stems
from veridical.models.quote.score import SHORTLIST, shortlist
from veridical.models.verbatim import Verbatim
from veridical.text.claims import find_claims
from veridical.types import Draft, Passage, Span
from veridical.verification import verify


def passage(text: str, title: str = "", number: int = 0) -> Passage:
    return Passage(f"p{number}", f"d{number}", text, Span(0, len(text)), title=title)


@pytest.fixture(scope="module")
def writer() -> QuoteWriter:
    return QuoteWriter(MiniLm())


def write(writer: QuoteWriter, question: str, *passages: Passage) -> Draft:
    return asyncio.run(writer.write(question, passages))


FERRY = passage(
    "The ferry Halcyon sails between Port Ennis and Saint Orla. It was launched in 1987 at the Morrow yard. "
    "In summer it carries up to 240 passengers,\nin winter 180. Dogs travel free of charge. "
    "Captain Ines Vale has commanded the ship since 2011.",
    "Halcyon (ferry)",
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many passengers can the Halcyon carry in summer?", "240 passengers"),
        ("When was the Halcyon launched?", "1987"),
        ("Who is the captain of the Halcyon?", "Ines Vale"),
        ("Where does the ferry Halcyon sail?", "Saint Orla"),
        ("Do dogs pay on the ferry?", "free of charge"),
    ],
)
def test_the_sentence_that_answers_comes_first(writer: QuoteWriter, question: str, answer: str) -> None:
    draft = write(writer, question, passage("Trains leave hourly. Tickets cost 4 crowns.", "Trains", 1), FERRY)
    assert answer in draft.text.split("\n\n")[0]
    assert draft.text.split("\n\n")[0].endswith("[2]")


@pytest.mark.parametrize(
    "question",
    ["What does mitochondrial DNA encode?", "Who won the chess championship in 1990?", "???", "", "x" * 100_000],
)
def test_it_abstains_when_nothing_answers(writer: QuoteWriter, question: str) -> None:
    draft = write(writer, question, FERRY)
    assert draft.text == ""
    assert "no sentence" in draft.abstained


def test_quotes_are_verbatim_and_pass_verification(writer: QuoteWriter) -> None:
    source = passage(
        "The tower[3] is 41 metres tall.[4]\n\n- Height of the lamp: 38 metres\n- Keeper: none since 1991\n\n"
        "## Opening hours\n\nThe tower opens at 9 a.m. on Sundays and closes when Mr. Hale goes home.",
        "Tower of Arnmouth",
    )
    for question in ("How tall is the tower of Arnmouth?", "When does the tower open?", "How high is the lamp?"):
        draft = write(writer, question, source)
        assert draft.text
        for claim in find_claims(draft):
            assert "[3]" not in claim.text
            assert [citation.mark for citation in claim.citations] == [1]


def test_plain_quotes_are_judged_supported(writer: QuoteWriter) -> None:
    draft = write(writer, "How many passengers can the Halcyon carry in summer?", FERRY)
    assert asyncio.run(verify(Verbatim(), find_claims(draft), draft.passages)).verified


def test_sources_that_disagree_are_both_quoted(writer: QuoteWriter) -> None:
    draft = write(
        writer,
        "How long is the Arn bridge?",
        passage("The Arn bridge is 312 metres long. It has six piers.", "Arn bridge", 0),
        passage("Visitors like the river. The Arn bridge is 298 metres long.", "Guide to Arnmouth", 1),
    )
    assert "312 metres long. [1]" in draft.text
    assert "298 metres long. [2]" in draft.text


def test_the_same_sentence_in_two_passages_is_quoted_once_with_both_marks(writer: QuoteWriter) -> None:
    text = "The Arn bridge is 312 metres long."
    draft = write(writer, "How long is the Arn bridge?", passage(text, number=0), passage(text, number=1))
    assert draft.text == "The Arn bridge is 312 metres long. [1][2]"


@pytest.mark.parametrize("heading", ["# Opening hours of the museum", "OPENING HOURS OF THE MUSEUM"])
def test_a_heading_is_not_an_answer(writer: QuoteWriter, heading: str) -> None:
    draft = write(
        writer,
        "What are the opening hours of the museum?",
        passage(f"{heading}\n\nThe museum opens daily from 10:00 to 17:00.", "Museum"),
    )
    assert draft.text == "The museum opens daily from 10:00 to 17:00. [1]"


def test_at_most_three_sentences() -> None:
    ranked = [Quote(f"Fact number {n} about tea.", (1,), 0.9) for n in range(9)]
    assert len(choose("What about tea?", ranked)) == 3


def test_a_sentence_that_adds_nothing_is_left_out() -> None:
    ranked = [Quote("The red bridge is 312 m long.", (1,), 0.9), Quote("The bridge is long.", (2,), 0.89)]
    assert choose("How long is the bridge?", ranked) == ranked[:1]


def test_no_more_sentences_are_embedded_than_the_shortlist() -> None:
    class Counting:
        dimensions = 2
        fingerprint = "counting"
        most = 0

        async def embed(self, texts: Sequence[str]) -> np.ndarray:
            self.most = max(self.most, len(texts))
            return np.tile(np.array([[1.0, 0.0]], np.float32), (len(texts), 1))

    counting = Counting()
    long = passage(" ".join(f"Sentence {n} is about tea number {n}." for n in range(200)))
    asyncio.run(QuoteWriter(counting).write("What is tea number 77?", [long]))
    assert counting.most == SHORTLIST + 1


def test_the_shortlist_holds_the_sentence_with_the_asked_words() -> None:
    long = passage(" ".join(f"Sentence {n} is about tea number {n}." for n in range(200)))
    best = shortlist(find_candidates("What is tea number 77?", [long]))[0]
    assert best.text == "Sentence 77 is about tea number 77."


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who designed it?", Kind.PERSON),
        ("In what year did it open?", Kind.TIME),
        ("which country is it in", Kind.PLACE),
        ("How many people live there?", Kind.NUMBER),
        ("What is the population of Arnmouth?", Kind.NUMBER),
        ("Why did it close?", Kind.REASON),
        ("What is a joist?", Kind.OPEN),
    ],
)
def test_questions_ask_for_a_kind(question: str, kind: Kind) -> None:
    assert kind_of(question) is kind


@pytest.mark.parametrize(
    ("kind", "sentence", "question", "expected"),
    [
        (Kind.PERSON, "It was designed by Anna Kell.", "Who designed it?", True),
        (Kind.PERSON, "Anna Kell lived here.", "Who is Anna Kell?", False),
        (Kind.TIME, "It opened in May 1930.", "When did it open?", True),
        (Kind.TIME, "It opened early.", "When did it open?", False),
        (Kind.NUMBER, "Two hundred people work there.", "How many people work there?", True),
        (Kind.NUMBER, "In 1930 people worked there.", "How many people worked there in 1930?", False),
        (Kind.PLACE, "It stands in Port Ennis.", "Where does it stand?", True),
        (Kind.PLACE, "Ennis is tall.", "Where does it stand?", False),
        (Kind.REASON, "It closed because the roof fell in.", "Why did it close?", True),
        (Kind.OPEN, "A joist is a beam.", "What is a joist?", False),
    ],
)
def test_a_sentence_offers_what_was_asked(kind: Kind, sentence: str, question: str, expected: bool) -> None:
    assert offers(kind, sentence, question) is expected


def test_numbers_compare_without_separators() -> None:
    assert numbers_in("It cost 1,250 crowns, in 1930.") == {"1250", "1930"}


def test_stems_bring_word_forms_together() -> None:
    assert stems("The designers designed a design's parts") == stems("designer design design part")
