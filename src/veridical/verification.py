"""Checks claims against the passages they cite. It fails closed: what cannot be checked is unverified.

A claim is supported only when the judge says that a cited passage entails it. A judge that is down, or that
answers with something other than probabilities, leaves every claim unverified.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from veridical.errors import VeridicalError
from veridical.text.sentences import sentence_spans
from veridical.types import Citation, Claim, Entailment, Evidence, Label, Passage, Verdict

if TYPE_CHECKING:
    from veridical.ports import Judge

THRESHOLD = 0.5


async def verify_claims(judge: Judge, claims: Sequence[Claim], passages: Sequence[Passage]) -> tuple[Claim, ...]:
    """The same claims with their verdicts. One batch for all pairs of claim and cited passage."""
    pairs = [
        (index, citation, passages[citation.mark - 1].text)
        for index, claim in enumerate(claims)
        for citation in claim.citations
    ]
    try:
        found = await judge.entail([(premise, claims[index].text) for index, _, premise in pairs])
    except VeridicalError as error:
        return tuple(replace(claim, verdict=Verdict(reason=f"not checked: {error.message}")) for claim in claims)
    by_claim: list[list[tuple[Entailment, Citation, str]]] = [[] for _ in claims]
    for (index, citation, premise), entailment in zip(pairs, found, strict=True):
        by_claim[index].append((entailment, citation, premise))
    verdicts = [await _decide(judge, claim, rows) for claim, rows in zip(claims, by_claim, strict=True)]
    return tuple(replace(claim, verdict=verdict) for claim, verdict in zip(claims, verdicts, strict=True))


async def _decide(judge: Judge, claim: Claim, rows: Sequence[tuple[Entailment, Citation, str]]) -> Verdict:
    if not rows:
        return Verdict(reason="it cites no passage")
    if not all(_is_distribution(entailment) for entailment, _, _ in rows):
        return Verdict(reason="not checked: the judge's output was unreadable")
    entailment, citation, premise = max(rows, key=lambda row: row[0].entailment)
    if entailment.entailment >= THRESHOLD:
        evidence = await _best_sentence(judge, claim, citation, premise)
        return Verdict(Label.SUPPORTED, entailment.entailment, evidence, "the cited passage says so")
    against, citation, premise = max(rows, key=lambda row: row[0].contradiction)
    if against.contradiction >= THRESHOLD:
        evidence = Evidence(premise, citation)
        return Verdict(Label.CONTRADICTED, entailment.entailment, evidence, "the cited passage says otherwise")
    return Verdict(Label.UNVERIFIED, entailment.entailment, None, "no cited passage was found to say so")


async def _best_sentence(judge: Judge, claim: Claim, citation: Citation, premise: str) -> Evidence:
    """The sentence of the passage that carries the claim, with its own span in the source document."""
    spans = sentence_spans(premise)
    scores = await judge.entail([(span.of(premise), claim.text) for span in spans])
    best = max(range(len(spans)), key=lambda i: scores[i].entailment)
    if scores[best].entailment < THRESHOLD:  # the claim spans several sentences
        return Evidence(premise, citation)
    span = spans[best]
    return Evidence(span.of(premise), replace(citation, span=span.shift(citation.span.start)))


def _is_distribution(entailment: Entailment) -> bool:
    return all(math.isfinite(p) and 0.0 <= p <= 1.0 for p in entailment)
