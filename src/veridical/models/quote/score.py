"""From a candidate sentence to the probability that it answers.

The constants were fitted on 2026-11-15 by `python -m veridical.training.fit_quote --data FOLDER`: 400 questions of
SQuAD 2.0, 400 of Natural Questions, 12,604 sentences. Figures on other questions: docs/results/quote.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from veridical.models.quote.features import Candidate

SHORTLIST = 16  # embedding a sentence costs some 8 ms on one core; 98 % of the answers were still in it

# In the order of `Candidate.numbers`.
WEIGHTS = (-5.492, 3.728, -0.128, 1.204, 0.695, 0.773, -0.773, 0.889, 0.271, -0.367, -0.166, 1.939)
# A quote that misses is a nuisance, not a falsehood: it counts a fifth of what a quote that answers is worth.
# Chosen by hand with the bundled sample in view: at 0.09 it answered 8 of its 10 unanswerable questions, here 2.
THRESHOLD = 1 / 6


def shortlist(candidates: Sequence[Candidate], most: int = SHORTLIST) -> list[Candidate]:
    """The sentences worth embedding, best first."""
    return sorted(candidates, key=lambda candidate: -candidate.quick_score())[:most]


def probability(candidate: Candidate, cosine: float) -> float:
    total = sum(w * x for w, x in zip(WEIGHTS, candidate.numbers(cosine), strict=True))
    return 1 / (1 + math.exp(-total))
