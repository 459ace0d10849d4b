"""Citation marks set right in the text, as a reader sees them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from veridical.text.claims import cite, find_claims
from veridical.types import Claim, Draft, Label, Passage, Span, Verdict
from veridical.verification import repair_marks

PASSAGES = tuple(Passage(f"p{n}", f"d{n}", "text", Span(0, 4), f"Title {n}") for n in (1, 2, 3))


def supported_by(mark: int) -> Verdict:
    return Verdict(Label.SUPPORTED, 0.9, reason="found", repair=(cite(mark, PASSAGES[mark - 1]),))


def repair(text: str, *marks: int | None) -> tuple[str, tuple[Claim, ...]]:
    """The repair of a text whose claims are carried by these uncited passages; None: nothing to repair."""
    claims = find_claims(Draft(text, PASSAGES))
    verdicts = [Verdict(Label.SUPPORTED, 0.9, cited=True) if mark is None else supported_by(mark) for mark in marks]
    return repair_marks(text, [replace(claim, verdict=v) for claim, v in zip(claims, verdicts, strict=True)], PASSAGES)


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("It fell in 1913. [2]", "It fell in 1913. [1]"),
        ("It fell in 1913 [2].", "It fell in 1913 [1]."),
        ("It fell in 1913[2].", "It fell in 1913[1]."),
        ("It fell [3] in 1913 [2].", "It fell in 1913 [1]."),
        ("It fell in 1913 [2][3].", "It fell in 1913 [1]."),
        ("It fell in 1913 [2, 3].", "It fell in 1913 [1]."),
        ("It fell in 1913 [2-3].", "It fell in 1913 [1]."),
        ("It fell in 1913.", "It fell in 1913 [1]."),
        ("It fell in 1913", "It fell in 1913 [1]"),
        ("He said “it fell.”", "He said “it fell [1].”"),
        ("Did it fall?!", "Did it fall [1]?!"),
        ("它在1913年倒塌。", "它在1913年倒塌[1]。"),
        ("- It fell in 1913", "- It fell in 1913 [1]"),
    ],
)
def test_the_mark_is_put_where_a_writer_would(text: str, repaired: str) -> None:
    new, (claim,) = repair(text, 1)
    assert new == repaired
    assert [citation.passage_id for citation in claim.citations] == ["p1"]
    assert (claim.verdict.cited, claim.verdict.repair) == (True, ())
    assert claim.span.of(new) == repaired.removeprefix("- ")


def test_the_reason_says_what_was_done() -> None:
    _, (wrong, none) = repair("It fell [2]. It rose.", 1, 3)
    assert wrong.verdict.reason == "citation repaired: [2] → [1]"
    assert none.verdict.reason == "citation added: [3]"


def test_the_claims_behind_a_repair_move_with_the_text() -> None:
    text, claims = repair("It fell [2][3]. It rose [1]. It stood.", 1, None, 2)
    assert text == "It fell [1]. It rose [1]. It stood [2]."
    assert [claim.span.of(text) for claim in claims] == ["It fell [1].", "It rose [1].", "It stood [2]."]


def test_a_mark_beside_one_that_supports_is_left() -> None:
    text = "It fell in 1913 [1][3]."
    assert repair(text, None)[0] == text


@pytest.mark.parametrize("label", [Label.UNVERIFIED, Label.CONTRADICTED])
def test_what_is_not_supported_is_not_repaired(label: Label) -> None:
    (claim,) = find_claims(Draft("It fell [2].", PASSAGES))
    claim = replace(claim, verdict=replace(supported_by(1), label=label))
    assert repair_marks("It fell [2].", [claim], PASSAGES) == ("It fell [2].", (claim,))


def test_a_repair_that_names_no_passage_of_the_text_is_left_out() -> None:
    (claim,) = find_claims(Draft("It fell [2].", PASSAGES))
    stranger = cite(1, Passage("other", "o", "text", Span(0, 4)))
    claim = replace(claim, verdict=replace(supported_by(1), repair=(stranger,)))
    assert repair_marks("It fell [2].", [claim], PASSAGES)[0] == "It fell [2]."


def test_the_facts_of_one_sentence_keep_its_marks() -> None:
    text = "It fell and rose [2]."
    facts = [Claim(fact, Span(0, len(text)), (cite(2, PASSAGES[1]),), supported_by(1)) for fact in ("It fell.", "Up.")]
    assert repair_marks(text, facts, PASSAGES) == (text, tuple(facts))


def test_nothing_to_repair_changes_nothing() -> None:
    assert repair_marks("", [], PASSAGES) == ("", ())
    assert repair("It fell [1].", None)[0] == "It fell [1]."
