"""From a candidate sentence to the probability that it answers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from veridical.models.quote.features import Candidate

SHORTLIST = 16  # embedding a sentence costs some 8 ms on one core

WEIGHTS = (-5.157, 2.325, 1.174, 1.014, 0.527, 0.442, -0.442, 0.341, -0.037, 0.219, -0.282, 1.323)
THRESHOLD = 0.062


def shortlist(candidates: Sequence[Candidate], most: int = SHORTLIST) -> list[Candidate]:
    """The sentences worth embedding, best first."""
    return sorted(candidates, key=lambda candidate: -candidate.quick_score())[:most]


def probability(candidate: Candidate, cosine: float) -> float:
    total = sum(w * x for w, x in zip(WEIGHTS, candidate.numbers(cosine), strict=True))
    return 1 / (1 + math.exp(-total))
