"""Sources that disagree about a claim: one carries it, another says otherwise, and both are quoted."""

from __future__ import annotations

from veridical.types import Conflict, Label, Verdict
from veridical.verification.decide import Found
from veridical.verification.readings import Terms

_STRONG = 0.5  # a judge's threshold may lie lower; a disagreement is reported only when support is likelier than not


def find_conflict(claim: str, verdict: Verdict, found: Found, terms: Terms) -> Conflict | None:
    """The place that supports a supported claim beside the strongest place in another passage that contradicts it."""
    if verdict.label is not Label.SUPPORTED or verdict.evidence is None or verdict.score is None:
        return None
    if not is_strong(verdict.score, terms):
        return None
    for objection in found.objections:
        if objection.mark != verdict.evidence.source.mark:
            return Conflict(claim, verdict.evidence, objection.evidence)
    return None


def is_strong(score: float, terms: Terms) -> bool:
    """Whether a claim of that score is supported well enough for an objection to be worth telling."""
    return score >= max(terms.threshold, _STRONG)
