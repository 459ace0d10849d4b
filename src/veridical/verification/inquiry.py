"""What one claim wants to know, round by round, written as a generator that asks pairs and is told what was found.

Inquiries run side by side: each round of all of them is one call of the judge.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from veridical.types import Entailment
from veridical.verification.entail import Pair

_Value = TypeVar("_Value")
_One = TypeVar("_One")
_Other = TypeVar("_Other")

# Asks a list of pairs, is sent as many answers in order, and in the end returns a value.
Inquiry: TypeAlias = Generator[Sequence[Pair], Sequence[Entailment], _Value]


def ask(premises: Sequence[str], claim: str) -> Inquiry[Sequence[Entailment]]:
    """One round, or none when there is nothing to ask."""
    return (yield [(premise, claim) for premise in premises]) if premises else ()


def together(inquiries: Sequence[Inquiry[_Value]]) -> Inquiry[list[_Value]]:
    """Their values, in order; as many rounds as the longest of them takes."""
    done: dict[int, _Value] = {}
    told: dict[int, Sequence[Entailment] | None] = dict.fromkeys(range(len(inquiries)))
    while True:
        asked: dict[int, Sequence[Pair]] = {}
        for number, answers in told.items():
            try:
                # A generator that has not begun is sent None, which its type leaves out.
                asked[number] = inquiries[number].send(cast("Sequence[Entailment]", answers))
            except StopIteration as end:
                done[number] = end.value
        if not asked:
            return [done[number] for number in range(len(inquiries))]
        said = iter((yield [pair for pairs in asked.values() for pair in pairs]))
        told = {number: [next(said) for _ in pairs] for number, pairs in asked.items()}


def both(one: Inquiry[_One], other: Inquiry[_Other]) -> Inquiry[tuple[_One, _Other]]:
    """The same for two of different kinds."""
    pair: Sequence[Inquiry[Any]] = (one, other)
    first, second = yield from together(pair)
    return first, second
