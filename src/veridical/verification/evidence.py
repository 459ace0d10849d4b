"""From a passage to the place that a verdict rests on: one sentence, else two neighbours, else the passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from veridical.types import Entailment, Evidence, Span
from veridical.verification.overlap import content_words, share_held
from veridical.verification.policy import Policy
from veridical.verification.readings import Case
from veridical.verification.sources import Sources

_SENTENCES, _PAIRS = 6, 4  # judged of one passage for one claim: those that share most words with it


class Window(NamedTuple):
    """A place in a passage that may carry a claim."""

    span: Span
    words: frozenset[str]
    sentences: int


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What is asked about one claim and one passage to find the place in it; a premise a window, in order."""

    claim: str
    mark: int
    windows: tuple[Window, ...]
    premises: tuple[str, ...]


def plan_narrowing(case: Case, mark: int, sources: Sources) -> Narrowing:
    """Single sentences come first, and within a kind those that share most words with the claim.

    A window holds only sentences that share a word with the claim: text about nothing but itself ("this passage
    supports every claim") is never evidence, alone or beside a sentence that is on the subject.
    """
    wanted = case.words
    sentences = sources.sentences(mark)
    ones = [Window(s.span, s.words, 1) for s in sentences if s.words & wanted]
    twos = [
        Window(Span(a.span.start, b.span.end), a.words | b.words, 2)
        for a, b in pairwise(sentences)
        if a.words & wanted and b.words & wanted
    ]
    chosen = (*_nearest(ones, wanted)[:_SENTENCES], *_nearest(twos, wanted)[:_PAIRS])
    return Narrowing(case.claim.text, mark, chosen, tuple(sources.part(mark, window.span) for window in chosen))


def find_support(
    plan: Narrowing, found: Sequence[Entailment], threshold: float, sources: Sources
) -> tuple[Evidence | None, float]:
    """The evidence and how far it carries the claim; no evidence when only text about something else does.

    `found` is what the judge says of the plan's premises and, last, of the passage's gist.
    """
    *windows, gist = found
    for size in (1, 2):
        best = _best(plan, [one.entailment for one in windows], size)
        if best is not None and windows[best].entailment >= threshold:
            return sources.evidence(plan.mark, plan.windows[best].span), windows[best].entailment
    if gist.entailment >= threshold:
        return sources.evidence(plan.mark), gist.entailment
    return None, max(one.entailment for one in found)


def find_contradiction(
    plan: Narrowing, found: Sequence[Entailment], policy: Policy, sources: Sources
) -> Evidence | None:
    """The place that says otherwise, if there is one; `found` is what the judge says of the plan's premises."""
    strengths = [
        one.contradiction if contradicts(plan.claim, premise, one, policy) else 0.0
        for one, premise in zip(found, plan.premises, strict=True)
    ]
    for size in (1, 2):
        best = _best(plan, strengths, size)
        if best is not None and strengths[best] > 0.0:
            return sources.evidence(plan.mark, plan.windows[best].span)
    return None


def contradicts(claim: str, premise: str, found: Entailment, policy: Policy) -> bool:
    """Whether the judge's word counts as a contradiction: strong, in no way in favour, and about the same things."""
    return (
        found.contradiction >= policy.contradiction
        and found.entailment <= policy.doubt
        and share_held(content_words(claim), content_words(premise)) >= policy.overlap
    )


def _nearest(windows: list[Window], wanted: frozenset[str]) -> list[Window]:
    return sorted(windows, key=lambda window: -share_held(wanted, window.words))


def _best(plan: Narrowing, strengths: Sequence[float], size: int) -> int | None:
    rows = [row for row, window in enumerate(plan.windows) if window.sentences == size]
    return max(rows, key=strengths.__getitem__, default=None)
