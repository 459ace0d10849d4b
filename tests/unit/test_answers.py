"""What an answer says after its sentences were checked: its status, its marks, its conflicts, and what is withheld."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from unit.kits import BRIDGE, PASSAGES, make_kit, passage
from veridical.methods.closed import Closed
from veridical.methods.rag import Rag
from veridical.models.verbatim import Verbatim
from veridical.serial import answer_from_json, answer_to_json
from veridical.types import Answer, Entailment, Label, Status

QUESTION = "When was the bridge opened?"


def ask(reply: str, **kit: object) -> Answer:
    return asyncio.run(Rag()(make_kit({"answer_cited": reply}, **kit), QUESTION))  # type: ignore[arg-type]


class Saying(Verbatim):
    """Says what is scripted of a (passage, claim), by words they hold; the rest word for word."""

    def __init__(self, *script: tuple[str, str, Entailment]) -> None:
        self.script = script

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        said = await super().entail(pairs)
        return [self._say(*pair) or word for pair, word in zip(pairs, said, strict=True)]

    def _say(self, premise: str, claim: str) -> Entailment | None:
        return next((said for p, c, said in self.script if p in premise and c in claim), None)


def test_all_sentences_supported_is_an_answer() -> None:
    answer = ask("The bridge opened in 1913. [1] It has five arches. [1]")
    assert (answer.status, answer.reason) == (Status.ANSWERED, "")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (f"{BRIDGE} [1] It is red [1].", "1 of 3 sentences is not supported by the sources"),
        ("It has five arches. [1] It is red. It is green [2].", "2 of 3 sentences are not supported by the sources"),
    ],
)
def test_some_sentences_supported_is_an_answer_in_part(reply: str, reason: str) -> None:
    answer = ask(reply)
    assert (answer.status, answer.reason) == (Status.PARTIAL, reason)
    assert all(claim.span.of(answer.text).startswith(claim.text[:8]) for claim in answer.claims)


def test_nothing_supported_is_no_answer_but_the_claims_are_kept() -> None:
    answer = ask("The bridge is red [1]. It opened in 2024 [2].")
    assert (answer.status, answer.text) == (Status.ABSTAINED, "")
    assert answer.reason.startswith("no sentence of the draft could be verified")
    assert [claim.text for claim in answer.claims] == ["The bridge is red.", "It opened in 2024."]
    assert answer_from_json(answer_to_json(answer)) == answer


def test_a_reason_that_all_sentences_share_is_told() -> None:
    class English(Verbatim):
        def declines(self, text: str) -> str:
            return "this judge reads English only"

    answer = ask("Le pont fut ouvert en 1913. [1] Il a cinq arches. [1]", judge=English())
    assert answer.status is Status.ABSTAINED
    assert "English only" in answer.reason


def test_a_mark_that_points_at_the_wrong_passage_is_repaired() -> None:
    answer = ask("The bridge opened in 1913. [2] Nobody lives there now. [2]")
    assert answer.text == "The bridge opened in 1913. [1] Nobody lives there now. [2]"
    assert answer.status is Status.ANSWERED
    first = answer.claims[0]
    assert [citation.mark for citation in first.citations] == [1]
    assert first.verdict.reason == "citation repaired: [2] → [1]"
    assert first.span.of(answer.text) == "The bridge opened in 1913. [1]"


def test_a_mark_that_is_missing_is_added() -> None:
    answer = ask("The bridge opened in 1913.")
    assert answer.claims[0].verdict.label is Label.SUPPORTED
    assert "[1]" in answer.text


def test_sources_that_disagree_are_both_quoted() -> None:
    other = passage(2, "The bridge opened in 1911.", "Gazette")
    says_no = Saying(("1911", "1913", Entailment(0.0, 0.05, 0.95)))
    answer = ask("The bridge opened in 1913. [1]", judge=says_no, passages=(PASSAGES[0], other))
    (conflict,) = answer.conflicts
    assert {conflict.one.text, conflict.other.text} == {"The bridge opened in 1913.", "The bridge opened in 1911."}
    assert answer.status is Status.ANSWERED


def test_from_memory_nothing_is_verified_and_nothing_withheld() -> None:
    answer = asyncio.run(Closed()(make_kit({"answer_closed": "In 1913. It is red."}), QUESTION))
    assert (answer.status, answer.text, answer.reason) == (Status.ANSWERED, "In 1913. It is red.", "")
    assert {claim.verdict.label for claim in answer.claims} == {Label.UNVERIFIED}


def test_printing_an_answer_strikes_what_is_not_supported() -> None:
    assert (
        str(ask("The bridge opened in 1913. [1] It is red. [1]")) == "The bridge opened in 1913. [1] ~~It is red. [1]~~"
    )
    assert str(ask("The bridge opened in 1913. [1]")) == "The bridge opened in 1913. [1]"
    assert str(ask("It is red. [1]")) == ""


def test_printing_an_answer_from_memory_strikes_nothing() -> None:
    answer = asyncio.run(Closed()(make_kit({"answer_closed": "It is red."}), QUESTION))
    assert str(answer) == "It is red."
