"""How far findings lower a probability of support.

In log-odds, so that a sure judge survives a soft finding and an unsure one does not. The sizes were chosen on
nli_dev with lengthened premises (docs/results/judge.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from veridical.checks import is_hard
from veridical.types import Finding

HARD_ODDS = 1.5  # a number, date, unit, quote or negation that the evidence does not hold
NAME_ODDS = 0.3  # a name it does not hold
_MOST_NAMES = 2  # more names than this weigh no more
_EDGE = 1e-6  # a probability of exactly 0 or 1 has no log-odds


def odds(findings: Sequence[Finding]) -> float:
    """What these findings take off the log-odds of support."""
    names = sum(finding.kind == "name" for finding in findings)
    return HARD_ODDS * any(map(is_hard, findings)) + NAME_ODDS * min(names, _MOST_NAMES)


def lower(score: float, findings: Sequence[Finding]) -> float:
    """The score after these findings: never higher, still in 0..1."""
    weight = odds(findings)
    if not weight:
        return score
    sure = min(max(score, _EDGE), 1 - _EDGE)
    return min(score, 1 / (1 + math.exp(weight - math.log(sure / (1 - sure)))))
