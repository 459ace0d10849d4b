"""Asking a judge, who may be down, lie about numbers or refuse: an answer is a value or the reason there is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from veridical.errors import VeridicalError
from veridical.types import Entailment

if TYPE_CHECKING:
    from veridical.ports import Judge

Pair = tuple[str, str]  # premise, hypothesis

_Value = TypeVar("_Value")
_TOLERANCE = 0.01  # by which probabilities may miss one in sum: 16-bit models round


class Unusable(Exception):
    """Why the judge's word cannot be used; caught inside this package."""


async def entail(judge: Judge, pairs: Sequence[Pair]) -> Sequence[Entailment]:
    """What the judge says of each pair. Raises Unusable for whatever else happens."""
    if not pairs:
        return []
    try:
        found = list(await judge.entail(pairs))
    except Exception as error:  # whatever breaks in a judge must not show a claim as checked, nor lose it
        raise Unusable(_why(error)) from error
    if len(found) != len(pairs) or not all(_is_distribution(entailment) for entailment in found):
        raise Unusable("the judge's output was unreadable")
    return found


def threshold_of(judge: Judge) -> float:
    """Where the judge's word begins to count. Raises Unusable when it is no share above zero."""
    value = _attempt(lambda: judge.threshold)
    if not _is_number(value) or not 0.0 < value <= 1.0:
        raise Unusable("the judge's threshold is unreadable")
    return float(value)


def refusal(judge: Judge, text: str) -> str:
    """Why the judge cannot read `text`; empty when it can. Raises Unusable when the judge cannot even say that."""
    why = _attempt(lambda: judge.declines(text))
    if not isinstance(why, str):
        raise Unusable("the judge's output was unreadable")
    return why


def _attempt(call: Callable[[], _Value]) -> _Value:
    try:
        return call()
    except Exception as error:
        raise Unusable(_why(error)) from error


def _why(error: Exception) -> str:
    if isinstance(error, VeridicalError):
        return error.message
    return f"the judge failed ({type(error).__name__}: {error})"


def _is_distribution(entailment: object) -> bool:
    return (
        isinstance(entailment, Entailment)
        and all(_is_number(p) and 0.0 <= p <= 1.0 for p in entailment)
        and abs(sum(entailment) - 1.0) <= _TOLERANCE
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
