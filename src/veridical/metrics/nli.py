"""φ(premise, hypothesis) ∈ {0, 1}, asked in batches: metrics name the pairs, a judge decides them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeAlias

from veridical.errors import ConfigError, ModelOutputInvalid
from veridical.ports import Judge

Pair: TypeAlias = tuple[str, str]  # (premise, hypothesis)


async def decide(judge: Judge, pairs: Iterable[Pair], threshold: float | None = None) -> dict[Pair, bool]:
    """φ of every distinct pair: P(entailment) ≥ threshold, which is the judge's own when None.

    A pair whose premise or hypothesis the judge declines to read, and a score that is no number, count as 0.
    Raises what the judge raises (a metric without its judge is no metric), ModelOutputInvalid when it answers
    with another number of scores than it was asked for or its threshold is none, ConfigError when the given one is.
    """
    least = _threshold(judge, threshold)
    wanted = list(dict.fromkeys(pairs))
    declined = {text: bool(judge.declines(text)) for text in {text for pair in wanted for text in pair}}
    readable = [pair for pair in wanted if not any(declined[text] for text in pair)]
    found = await judge.entail(readable) if readable else []
    if len(found) != len(readable):
        raise ModelOutputInvalid(
            f"the judge gave {len(found)} scores for {len(readable)} pairs", fix="choose another judge (verify.judge)"
        )
    answers = dict.fromkeys(wanted, False)
    answers.update((pair, one.entailment >= least) for pair, one in zip(readable, found, strict=True))  # NaN ≥ x: False
    return answers


def is_threshold(value: object) -> bool:
    """Whether support may begin there: a share above zero, for from zero on everything would be supported."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and 0 < value <= 1


def _threshold(judge: Judge, given: float | None) -> float:
    least = judge.threshold if given is None else given
    if is_threshold(least):
        return float(least)
    if given is None:
        raise ModelOutputInvalid(f"the judge's threshold is {least}", fix="choose another judge (verify.judge)")
    raise ConfigError(f"a threshold of {least} is none", fix="give a share above 0, at most 1")


def share(flags: Iterable[bool]) -> float:
    """The share that is true; 0 of nothing, because what has no parts is never verified."""
    counted = list(flags)
    return sum(counted) / len(counted) if counted else 0.0
