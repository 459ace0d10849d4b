"""From what was read of a claim in each passage to its verdict. Pure: no judge is asked here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from veridical.checks import find_findings
from veridical.text.claims import cite
from veridical.types import Evidence, Finding, Label, Verdict
from veridical.verification.readings import Case, Reading, Terms


@dataclass(frozen=True, slots=True)
class Support:
    """A reading that carries the claim, and the place that does; None when only text about something else does."""

    reading: Reading
    evidence: Evidence | None
    strength: float  # of the place


@dataclass(frozen=True, slots=True)
class Objection:
    """A place in the passage of that mark that says otherwise."""

    mark: int
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Found:
    """All that was read about one claim; supports and objections are in order of strength."""

    readings: tuple[Reading, ...] = ()
    supports: tuple[Support, ...] = ()
    objections: tuple[Objection, ...] = ()
    joint: Reading | None = None  # of the cited passages together

    @property
    def score(self) -> float | None:
        """The best probability of support that survived the second look; None when nothing was read."""
        scores = [reading.score for reading in self.readings if not reading.carries]
        scores += [s.reading.score if s.evidence else min(s.strength, s.reading.score) for s in self.supports]
        return max([*scores, self.joint.score] if self.joint else scores, default=None)


def decide(case: Case, found: Found, terms: Terms) -> Verdict:
    """Support by a cited passage, by the cited ones together, by an uncited one; contradiction; else unverified."""
    if case.refused:
        return Verdict(reason=f"not checked: {case.refused}")
    sound = [support for support in found.supports if support.evidence is not None]
    for support in sound:
        if support.reading.mark in case.cited:
            return _supported(support.reading, support.evidence, "the cited passage says so")
    if found.joint is not None and found.joint.carries:
        nearest = max(_cited(case, found), key=lambda reading: reading.score)
        return _supported(found.joint, terms.sources.evidence(nearest.mark), "the cited passages together say so")
    if sound:
        return _repairable(case, sound, terms)
    for objection in found.objections:
        if not case.cited or objection.mark in case.cited:
            return _contradicted(case, found, objection, terms)
    return _unverified(case, found, terms)


def _supported(reading: Reading, evidence: Evidence | None, reason: str) -> Verdict:
    return Verdict(Label.SUPPORTED, reading.score, evidence, reason, cited=True, findings=reading.findings)


def _repairable(case: Case, sound: Sequence[Support], terms: Terms) -> Verdict:
    best = sound[0]
    return Verdict(
        Label.SUPPORTED,
        best.reading.score,
        best.evidence,
        "no cited passage says so, but another does" if case.cited else "it cites no passage, but one says so",
        repair=tuple(cite(s.reading.mark, terms.sources.passages[s.reading.mark - 1]) for s in sound),
        findings=_worded(best.reading.findings, case),
    )


def _contradicted(case: Case, found: Found, objection: Objection, terms: Terms) -> Verdict:
    findings = find_findings(case.claim.text, terms.sources.premise(objection.mark))
    reason = "the cited passage says otherwise" if case.cited else "it cites no passage, and one says otherwise"
    return Verdict(Label.CONTRADICTED, found.score, objection.evidence, reason, findings=_worded(findings, case))


def _unverified(case: Case, found: Found, terms: Terms) -> Verdict:
    """Unverified, with what the nearest passage lacks."""
    near = _cited(case, found) if case.cited else found.readings
    if not near:
        return Verdict(score=found.score, reason=_why_unread(case, terms))
    nearest = max(near, key=lambda reading: reading.score)
    findings = nearest.findings or find_findings(case.claim.text, terms.sources.premise(nearest.mark))
    veto = Reading(nearest.mark, nearest.found, 0.0, findings).veto
    if case.cited and veto:
        reason = veto.reason
    elif case.cited:
        reason = "no cited passage was found to say so"
    else:
        reason = "it cites no passage, and none was found to say so"
    return Verdict(score=found.score, reason=reason, findings=_worded(findings, case))


def _worded(findings: Sequence[Finding], case: Case) -> tuple[Finding, ...]:
    """As a reader of the claim would say it: without marks there is no cited passage."""
    if case.cited:
        return tuple(findings)
    return tuple(replace(f, reason=f.reason.replace("the cited passage", "the passage found")) for f in findings)


def _why_unread(case: Case, terms: Terms) -> str:
    unread = [terms.unread[mark] for mark in case.cited or terms.unread if mark in terms.unread]
    return f"not checked: {unread[0]}" if unread else "there is nothing to check it against"


def _cited(case: Case, found: Found) -> tuple[Reading, ...]:
    return tuple(reading for reading in found.readings if reading.mark in case.cited)
