"""The judge that takes a claim only word for word, as whole sentences."""

from __future__ import annotations

import asyncio

import pytest

from veridical.models import verbatim
from veridical.models.verbatim import Verbatim
from veridical.types import Span

PREMISE = "The dam is old. [3] Nobody believes the dam is safe. It leaks.\n\n1. Close the gate.\n2. Leave at once."


def held(*claims: str, premise: str = PREMISE) -> list[bool]:
    found = asyncio.run(Verbatim().entail([(premise, claim) for claim in claims]))
    return [one.entailment == 1.0 for one in found]


@pytest.mark.parametrize(
    "claim",
    [
        "The dam is old.",
        "The dam is old. [1]",
        "The dam\nis old. Nobody believes the dam is safe. It leaks.",
        "It leaks.",
        "1. Close the gate.",
        "Close the gate.",
        "Leave at once.",
        "Close the gate. 2. Leave at once.",
    ],
)
def test_whole_sentences_are_held(claim: str) -> None:
    assert held(claim) == [True]


@pytest.mark.parametrize(
    "claim",
    ["the dam is safe.", "The dam is old. It leaks.", "It leaks. It leaks.", "The dam", "Leave at once. Now.", ""],
)
def test_parts_and_other_sentences_are_not(claim: str) -> None:
    assert held(claim) == [False]


def test_nothing_is_held_by_nothing() -> None:
    assert held("It leaks.", premise="") == [False]


def test_a_premise_is_split_once_for_all_that_is_asked_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    split: list[str] = []
    real = verbatim.sentence_spans

    def counting(text: str, language: str = "en") -> list[Span]:
        split.append(text)
        return real(text, language)

    monkeypatch.setattr(verbatim, "sentence_spans", counting)
    assert held(*["It leaks.", "It is dry."] * 50) == [True, False] * 50
    assert split == [PREMISE]


def test_a_premise_of_many_equal_sentences_is_compared_in_no_time() -> None:
    premise = "It leaks. " * 5_000
    assert held("It leaks. " * 20 + "It is dry.", premise=premise) == [False]
