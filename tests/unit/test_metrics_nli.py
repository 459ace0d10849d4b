"""Which pairs a judge's word decides: from a threshold that can be one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from veridical.errors import ConfigError, ModelOutputInvalid
from veridical.metrics.nli import decide, is_threshold
from veridical.types import Entailment
from veridical.verification.entail import Unusable, threshold_of

NAN = float("nan")
VALUES = [0.5, 1, 1e-9, 0, 0.0, -0.1, 1.1, NAN, float("inf"), True, None, "0.5"]


class Nobody:
    """Supports nothing, from a threshold that a test sets."""

    def __init__(self, threshold: object) -> None:
        self.threshold = threshold

    def declines(self, text: str) -> str:
        return ""

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        return [Entailment(0.0, 1.0, 0.0) for _ in pairs]


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5, NAN])
def test_a_threshold_that_is_none_is_refused_for_it_would_support_everything(threshold: float) -> None:
    with pytest.raises(ConfigError, match="threshold"):
        asyncio.run(decide(Nobody(0.5), [("It is.", "It is.")], threshold))  # type: ignore[arg-type]
    with pytest.raises(ModelOutputInvalid, match="threshold"):
        asyncio.run(decide(Nobody(threshold), [("It is.", "It is.")]))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", VALUES)
def test_metrics_and_verification_accept_the_same_thresholds(value: object) -> None:
    try:
        accepted = threshold_of(Nobody(value)) == value  # type: ignore[arg-type]
    except Unusable:
        accepted = False
    assert is_threshold(value) == accepted
