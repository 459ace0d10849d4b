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
_TOLERANCE = 0.01  # by which probabilities may miss one in sum: 16-bit models round

Pair = tuple[str, str]  # premise, hypothesis


async def verify_claims(
    judge: Judge, claims: Sequence[Claim], passages: Sequence[Passage], language: str = "en"
) -> tuple[Claim, ...]:
    """The same claims with their verdicts. Never raises for what a judge does."""
    cited = [(claim, citation) for claim in claims for citation in claim.citations]
    found = await _entail(judge, [(passages[citation.mark - 1].text, claim.text) for claim, citation in cited])
    if isinstance(found, str):
        return tuple(replace(claim, verdict=Verdict(reason=f"not checked: {found}")) for claim in claims)
    verdicts, start = [], 0
    for claim in claims:
        end = start + len(claim.citations)
        verdicts.append(_decide(list(zip(found[start:end], claim.citations, strict=True)), passages))
        start = end
    verdicts = [
        await _narrow(judge, claim.text, verdict, language) for claim, verdict in zip(claims, verdicts, strict=True)
    ]
    return tuple(replace(claim, verdict=verdict) for claim, verdict in zip(claims, verdicts, strict=True))


async def _entail(judge: Judge, pairs: Sequence[Pair]) -> Sequence[Entailment] | str:
    """What the judge says of each pair, or why it cannot be used."""
    if not pairs:
        return []
    try:
        found = list(await judge.entail(pairs))
    except VeridicalError as error:
        return error.message
    except Exception as error:  # noqa: BLE001 - whatever breaks in a judge must not show a claim as checked, nor lose it
        return f"the judge failed ({type(error).__name__}: {error})"
    readable = len(found) == len(pairs) and all(_is_distribution(entailment) for entailment in found)
    return found if readable else "the judge's output was unreadable"


def _decide(rows: Sequence[tuple[Entailment, Citation]], passages: Sequence[Passage]) -> Verdict:
    if not rows:
        return Verdict(reason="it cites no passage")
    best, citation = max(rows, key=lambda row: row[0].entailment)
    if best.entailment >= THRESHOLD:
        evidence = Evidence(passages[citation.mark - 1].text, citation)
        return Verdict(Label.SUPPORTED, best.entailment, evidence, "the cited passage says so")
    against, citation = max(rows, key=lambda row: row[0].contradiction)
    if against.contradiction >= THRESHOLD:
        evidence = Evidence(passages[citation.mark - 1].text, citation)
        return Verdict(Label.CONTRADICTED, best.entailment, evidence, "the cited passage says otherwise")
    return Verdict(Label.UNVERIFIED, best.entailment, None, "no cited passage was found to say so")


async def _narrow(judge: Judge, claim: str, verdict: Verdict, language: str) -> Verdict:
    """The same verdict with its evidence narrowed to the sentence that carries it, where one alone does."""
    if verdict.evidence is None:
        return verdict
    premise, source = verdict.evidence.text, verdict.evidence.source
    spans = sentence_spans(premise, language)
    found = await _entail(judge, [(span.of(premise), claim) for span in spans])
    if isinstance(found, str) or not found:
        return verdict
    supports = verdict.label is Label.SUPPORTED
    strength = [one.entailment if supports else one.contradiction for one in found]
    best = max(range(len(spans)), key=strength.__getitem__)
    if strength[best] < THRESHOLD:
        return verdict
    place = replace(source, span=spans[best].shift(source.span.start))
    return replace(verdict, evidence=Evidence(spans[best].of(premise), place))


def _is_distribution(entailment: object) -> bool:
    return (
        isinstance(entailment, Entailment)
        and all(isinstance(p, (int, float)) and math.isfinite(p) and 0.0 <= p <= 1.0 for p in entailment)
        and abs(sum(entailment) - 1.0) <= _TOLERANCE
    )
