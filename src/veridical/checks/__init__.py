"""What a claim says that its passage does not hold, found by reading alone: no model, no guess.

A finding says that something is not there, never that it is wrong: a number may be a sum of two that are.
"""

from __future__ import annotations

from veridical.checks.dates import find_dates
from veridical.checks.frames import find_frames
from veridical.checks.matching import match_sentences
from veridical.checks.names import find_names
from veridical.checks.negation import find_negations
from veridical.checks.numbers import find_numbers
from veridical.checks.opposites import find_opposites
from veridical.checks.order import find_exchanges
from veridical.checks.quotes import find_quotes
from veridical.checks.words import fold
from veridical.text.marks import strip_marks
from veridical.types import Finding

# What a judge's word does not outweigh. Names ("name"), negations and opposites between sentences that are only much
# the same ("polarity"), and what the passage says may be so ("report") are told, and count where the judge is in doubt.
HARD: frozenset[str] = frozenset({"number", "date", "unit", "quote", "negation", "opposite", "order", "frame"})


def is_hard(finding: Finding) -> bool:
    """Whether the finding alone takes a claim's support away."""
    return finding.kind in HARD


def find_findings(claim: str, evidence: str) -> tuple[Finding, ...]:
    """What `claim` says and `evidence` (title included) does not hold: the hard ones first, each kind in order.

    Citation marks in the claim are not read. For a claim that stands in the evidence word for word, nothing but what
    the evidence puts around it ("It is a myth that …"). Never raises; takes time linear in both texts.
    """
    claim = strip_marks(claim)
    matches = match_sentences(claim, evidence)
    if _one_line(claim) in _one_line(evidence) or _one_line(claim) in _one_line(strip_marks(evidence)):
        return tuple(dict.fromkeys(filter(is_hard, find_frames(matches))))
    dates, dated = find_dates(claim, evidence)
    found = [
        *find_quotes(claim, evidence),
        *dates,
        *find_numbers(claim, evidence, dated),
        *find_negations(matches),
        *find_opposites(matches),
        *find_exchanges(matches),
        *find_frames(matches),
        *find_names(claim, evidence),
    ]
    return tuple(sorted(dict.fromkeys(found), key=lambda finding: not is_hard(finding)))


def _one_line(text: str) -> str:
    return " ".join(fold(text).split())
