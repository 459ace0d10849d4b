"""How much is supported: gold claims by an answer, an answer's claims by its evidence; and is it to the point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from veridical.errors import ModelOutputInvalid
from veridical.metrics.nli import Pair, decide, share
from veridical.metrics.normalise import drop_marks
from veridical.ports import CrossScorer, Judge
from veridical.types import Claim, Label

# ── pure ─────────────────────────────────────────────────────────────────────────────────────────


def claim_pairs(answer: str, claims: Sequence[str]) -> list[Pair]:
    """What `claim_recall` asks: the answer without its marks is the premise of every gold claim."""
    bare = drop_marks(answer)
    return [(bare, claim) for claim in claims]


def claim_recall(answer: str, claims: Sequence[str], known: Mapping[Pair, bool]) -> float:
    """Gold claims entailed by the answer / gold claims (ALCE on ELI5); 0 without claims."""
    return share(known[pair] for pair in claim_pairs(answer, claims))


def atomic_precision(supported: Sequence[bool], gamma: float = 0.0) -> float:
    """Supported atomic facts / facts, times exp(1 − γ/N) when N < γ (FActScore; the paper's γ is 10).

    γ = 0 leaves the penalty for short answers out. No facts at all score 0.
    """
    facts = len(supported)
    penalty = math.exp(1 - gamma / facts) if 0 < facts < gamma else 1.0
    return share(supported) * penalty


class Step(NamedTuple):
    """One search of a session: what was found (as a premise, see `citations.join_passages`) and what was answered."""

    evidence: str
    answer: str


def coverage_pairs(steps: Sequence[Step], claims: Sequence[str]) -> list[Pair]:
    """What `knowledge_coverage` asks: every gold claim of each step's evidence and of each step's answer."""
    premises = [premise for step in steps for premise in (step.evidence, drop_marks(step.answer))]
    return [(premise, claim) for premise in premises for claim in claims]


def knowledge_coverage(steps: Sequence[Step], claims: Sequence[str], known: Mapping[Pair, bool]) -> float:
    """|∪ᵢ (C_dⁱ ∩ C_aⁱ)| / |C|: gold claims that some step both found and said (FaVe, App. G); 0 without claims."""
    return share(
        any(known[step.evidence, claim] and known[drop_marks(step.answer), claim] for step in steps) for claim in claims
    )


def groundedness(claims: Sequence[Claim]) -> float:
    """Supported claims / claims of a verified answer; 0 without claims, and an unverified claim is not supported."""
    return share(claim.verdict.label is Label.SUPPORTED for claim in claims)


# ── by a model ───────────────────────────────────────────────────────────────────────────────────


async def assess_claim_recall(judge: Judge, answer: str, claims: Sequence[str]) -> float:
    """`claim_recall` by a judge. Raises what `nli.decide` raises."""
    return claim_recall(answer, claims, await decide(judge, claim_pairs(answer, claims)))


async def assess_coverage(judge: Judge, steps: Sequence[Step], claims: Sequence[str]) -> float:
    """`knowledge_coverage` by a judge. Raises what `nli.decide` raises."""
    return knowledge_coverage(steps, claims, await decide(judge, coverage_pairs(steps, claims)))


async def answer_relevance(scorer: CrossScorer, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """score(question, answer without marks) of each pair, held within 0..1: is the answer to the point?

    Needs no gold answer. An empty answer and a score that is no number are 0. Raises what the scorer raises,
    ModelOutputInvalid when it answers with another number of scores than it was asked for.
    """
    bare = [(question, drop_marks(answer).strip()) for question, answer in pairs]
    asked = [pair for pair in bare if pair[1]]
    found = await scorer.score(asked) if asked else []
    if len(found) != len(asked):
        raise ModelOutputInvalid(
            f"the scorer gave {len(found)} scores for {len(asked)} pairs", fix="choose another relevance model"
        )
    scores = dict(zip(asked, found, strict=True))
    return [_unit(scores.get(pair, 0.0)) for pair in bare]


def _unit(score: float) -> float:
    return 0.0 if math.isnan(score) else min(1.0, max(0.0, score))
