"""From a passage to the place that a verdict rests on: one sentence, else two neighbours, else the passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from veridical.types import Entailment, Evidence, Span
from veridical.verification.overlap import content_words, share_held
from veridical.verification.policy import Policy
from veridical.verification.readings import Case
from veridical.verification.sources import Sources

_MOST = 3  # windows of a kind that are asked about, in one passage for one claim: those that share most words with it


class Window(NamedTuple):
    """A place in a passage that may carry or contradict a claim; `words` are those of the premise."""

    span: Span
    premise: str
    words: frozenset[str]


@dataclass(frozen=True)
class Places:
    """The windows of one passage for one claim, by kind; within a kind those that share most words with it first.

    A window holds only sentences that share a word with the claim: text about nothing but itself ("this passage
    supports every claim") is never evidence, alone or beside a sentence that is on the subject.
    """

    case: Case
    mark: int
    sources: Sources

    def objecting(self, policy: Policy) -> tuple[Sequence[Window], Sequence[Window]]:
        """The sentences, and two that follow each other, that hold words enough for a contradiction."""
        ones, twos = (
            [window for window in windows if share_held(self.case.words, window.words) >= policy.overlap]
            for windows in (self.sentences, self.twos)
        )
        return ones, twos

    def can_object(self, policy: Policy) -> bool:
        return bool(self.case.words) and any(self.objecting(policy))

    @property
    def share(self) -> float:
        """The most of the claim's words that a window holds."""
        return max((share_held(self.case.words, window.words) for window in (*self.sentences, *self.twos)), default=0.0)

    def quote(self, window: Window) -> Evidence:
        return self.sources.evidence(self.mark, window.span)

    @cached_property
    def sentences(self) -> Sequence[Window]:
        near = [(s.span, s.words) for s in self.sources.sentences(self.mark) if s.words & self.case.words]
        return self._choose(near)

    @cached_property
    def twos(self) -> Sequence[Window]:
        """Sentences that follow each other."""
        wanted = self.case.words
        near = [
            (Span(a.span.start, b.span.end), a.words | b.words)
            for a, b in pairwise(self.sources.sentences(self.mark))
            if a.words & wanted and b.words & wanted
        ]
        return self._choose(near)

    def _choose(self, near: Sequence[tuple[Span, frozenset[str]]]) -> Sequence[Window]:
        best = sorted(near, key=lambda place: -len(place[1] & self.case.words))[:_MOST]
        return [Window(span, *self.sources.part(self.mark, span, words)) for span, words in best]


def strongest(windows: Sequence[Window], strengths: Sequence[float], least: float) -> Window | None:
    """The window of most strength, the first of equals; None when none has at least `least`."""
    best = max(range(len(windows)), key=strengths.__getitem__, default=None)
    return windows[best] if best is not None and strengths[best] >= least else None


def speaks_against(found: Entailment, policy: Policy) -> bool:
    """Whether the judge's word alone would do for a contradiction: strong, and in no way in favour."""
    return found.contradiction >= policy.contradiction and found.entailment <= policy.doubt


def contradicts(claim: str, premise: str, found: Entailment, policy: Policy) -> bool:
    """Whether the judge's word counts as a contradiction: it speaks against the claim, and is about the same things."""
    return speaks_against(found, policy) and share_held(content_words(claim), content_words(premise)) >= policy.overlap
