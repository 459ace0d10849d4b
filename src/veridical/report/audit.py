"""A text whose claims were checked, and the rules that say whether it passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from veridical.types import Claim, Conflict, Label, Passage, Span, Verdict


@dataclass(frozen=True, slots=True)
class Rules:
    """When a claim fails. A contradicted one always does, an unverified one unless it is allowed.

    With `fail_on_conflict` the text fails, though none of its claims does, when its sources disagree.
    """

    min_score: float = 0.0  # a supported claim below it fails
    allow_unverified: bool = False
    strict_citations: bool = False  # a supported claim fails when what it cites itself does not carry it
    fail_on_conflict: bool = False

    def failure(self, verdict: Verdict) -> str:
        """Why a claim with this verdict fails; empty when it passes."""
        if verdict.label is Label.CONTRADICTED:
            return "contradicted"
        if verdict.label is Label.UNVERIFIED:
            return "" if self.allow_unverified else "unverified"
        if self.strict_citations and not verdict.cited:
            return "not carried by what it cites"
        score = verdict.score if verdict.score is not None else 0.0
        return f"score {score:.2f} is below {self.min_score:g}" if score < self.min_score else ""


@dataclass(frozen=True, slots=True)
class Numbered:
    """A document by the number that marks have for it. `named`: the text's own marks reach it."""

    number: int
    document_id: str
    title: str
    uri: str
    named: bool = False


@dataclass(frozen=True, slots=True)
class Audit:
    """Claims in order of their spans in `text`; the `mark` of a citation is the number of a source.

    `passages` holds, by id, what evidence and citations lie in. `skipped` are parts of the text that make no claim
    (headings, code, the list of references) and were not checked.
    """

    name: str
    text: str
    claims: tuple[Claim, ...]
    against: str = ""
    judge: str = ""
    sources: tuple[Numbered, ...] = ()
    passages: Mapping[str, Passage] = field(default_factory=dict)
    conflicts: tuple[Conflict, ...] = ()
    skipped: tuple[Span, ...] = ()
    invalid_marks: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    rules: Rules = Rules()
    threshold: float | None = None  # score from which on a claim counts as supported

    @property
    def failures(self) -> tuple[str, ...]:
        """Why each claim fails, in order; empty strings for those that pass."""
        return tuple(self.rules.failure(claim.verdict) for claim in self.claims)

    @property
    def passed(self) -> bool:
        """Whether there is a claim and none fails: nothing at all is never verified."""
        return bool(self.claims) and not any(self.failures) and not self.conflicts_fail

    @property
    def conflicts_fail(self) -> bool:
        return self.rules.fail_on_conflict and bool(self.conflicts)

    @property
    def tally(self) -> dict[Label, int]:
        found = Counter(claim.verdict.label for claim in self.claims)
        return {label: found[label] for label in Label}

    @property
    def summary(self) -> str:
        """`7 of 9 claims supported, 1 contradicted, 1 unverified, 2 conflicts between sources`."""
        tally, many = self.tally, len(self.claims)
        said = f"{tally[Label.SUPPORTED]:,} of {many:,} claim{'' if many == 1 else 's'} supported"
        parts = [said, *(f"{tally[label]:,} {label}" for label in list(Label)[1:] if tally[label])]
        if self.conflicts:
            parts.append(f"{len(self.conflicts):,} conflict{'' if len(self.conflicts) == 1 else 's'} between sources")
        return ", ".join(parts)


def distinct(conflicts: Iterable[Conflict]) -> tuple[Conflict, ...]:
    """Each pair of places once: when a text makes both claims, each finds the other's evidence against it."""
    found: dict[frozenset[tuple[str, Span]], Conflict] = {}
    for conflict in conflicts:
        places = frozenset((side.source.document_id, side.source.span) for side in (conflict.one, conflict.other))
        found.setdefault(places, conflict)
    return tuple(found.values())


def score_in_words(verdict: Verdict) -> str:
    """`score 0.58`; of a contradicted claim it says how far it is supported: `support 0.14`. Empty without one."""
    if verdict.score is None:
        return ""
    return f"{'support' if verdict.label is Label.CONTRADICTED else 'score'} {verdict.score:.2f}"
