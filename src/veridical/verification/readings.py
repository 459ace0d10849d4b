"""What the judge and the checks say of one claim and one passage, taken together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from veridical.checks import find_findings, is_hard
from veridical.types import Claim, Entailment, Finding
from veridical.verification.policy import Policy
from veridical.verification.sources import Sources

TOGETHER = 0  # the mark of the cited passages read as one

_VETO = 0.1  # what a hard finding leaves of a score, the threshold at most: the judge missed what is plain to see
_MOST_SOFT = 2  # soft findings that count


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for all claims of one verification."""

    sources: Sources
    policy: Policy
    threshold: float
    unread: Mapping[int, str]  # why the judge cannot read the passage of that mark


@dataclass(frozen=True, slots=True)
class Case:
    """One claim, the marks it cites, those of the passages that can be read, and of those the judge is asked about."""

    claim: Claim
    words: frozenset[str]  # the claim's content words
    cited: tuple[int, ...]
    marks: tuple[int, ...]
    asked: tuple[int, ...]
    refused: str = ""  # why the judge cannot read the claim


@dataclass(frozen=True, slots=True)
class Reading:
    """One claim beside one passage. `carries` counts the judge, the checks and the shared words."""

    mark: int
    found: Entailment
    score: float  # of support: the judge's, lowered by the findings
    findings: tuple[Finding, ...] = ()
    carries: bool = False

    @property
    def veto(self) -> Finding | None:
        """The first finding that forbids support, whatever the judge says."""
        return next((finding for finding in self.findings if is_hard(finding)), None)


def read(case: Case, mark: int, found: Entailment, terms: Terms) -> Reading:
    """The reading of one passage. Checks run only where the judge sees support: only there can they change it."""
    if not case.words & terms.sources.words(mark):
        return Reading(mark, found, 0.0)  # whatever the judge says: it may be fooled, and it may guess
    reading = Reading(mark, found, found.entailment)
    if reading.score < terms.threshold:
        return reading
    return weigh(case.claim.text, reading, terms.sources.premise(mark), terms)


def weigh(claim: str, reading: Reading, premise: str, terms: Terms) -> Reading:
    """The reading after the checks.

    A hard finding takes the support away. Each soft one takes `policy.penalty` off the score, so it changes the
    verdict only of a claim that stood that near to the threshold.
    """
    checked = replace(reading, findings=find_findings(claim, premise))
    if checked.veto is not None:
        return replace(checked, score=min(reading.score, terms.threshold) * _VETO)
    score = max(0.0, reading.score - min(len(checked.findings), _MOST_SOFT) * terms.policy.penalty)
    return replace(checked, score=score, carries=score >= terms.threshold)
