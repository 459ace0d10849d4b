"""Claims and passages → verdicts and conflicts, in at most three calls of the judge.

What is asked about a claim stands in `looks`; here all claims are asked about at once. Many go in slices, so the
judge and the memory see a bounded number of pairs at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from veridical.types import Claim, Conflict, Entailment, Passage, Verdict
from veridical.verification.conflicts import find_conflict
from veridical.verification.decide import Found, decide
from veridical.verification.entail import Pair, Unusable, entail, refusal, threshold_of
from veridical.verification.inquiry import together
from veridical.verification.looks import look_into
from veridical.verification.overlap import content_words, share_held
from veridical.verification.policy import Policy, Verification
from veridical.verification.readings import Case, Terms
from veridical.verification.sources import Sources

if TYPE_CHECKING:
    from veridical.ports import Judge

DEFAULT = Policy()
_SLICE_PAIRS, _SLICE_CLAIMS = 4096, 256  # (claim, passage) pairs, and claims, that are held at once


async def verify(
    judge: Judge,
    claims: Sequence[Claim],
    passages: Sequence[Passage],
    policy: Policy = DEFAULT,
    language: str = "en",
) -> Verification:
    """The same claims in the same order, each with its verdict; mark [n] of a claim is passages[n-1].

    Never raises for what a judge does: a judge that fails leaves the claims of that slice unverified, with the
    reason. `language` is that of the passages, for their sentences.
    """
    try:
        terms = set_terms(judge, passages, policy, language)
    except Unusable as why:
        return Verification(tuple(_unchecked(claim, why) for claim in claims))
    done: list[Claim] = []
    conflicts: list[Conflict] = []
    for some in _slices(claims, len(passages)):
        try:
            cases = [open_case(judge, claim, terms) for claim in some]
            looked = await _look(judge, cases, terms)
        except Unusable as why:
            done += (_unchecked(claim, why) for claim in some)
            continue
        for case, found in zip(cases, looked, strict=True):
            verdict = decide(case, found, terms)
            conflict = find_conflict(case.claim.text, verdict, found, terms)
            done.append(replace(case.claim, verdict=verdict))
            conflicts += [conflict] if conflict else []
    return Verification(tuple(done), tuple(dict.fromkeys(conflicts)))


def set_terms(judge: Judge, passages: Sequence[Passage], policy: Policy, language: str) -> Terms:
    """Raises Unusable when the judge cannot say where its word counts and what it reads."""
    threshold = threshold_of(judge) if policy.threshold is None else policy.threshold
    refusals = {mark: refusal(judge, passage.text) for mark, passage in enumerate(passages, 1)}
    unread = {mark: why for mark, why in refusals.items() if why}
    return Terms(Sources(passages, language), policy, threshold, unread)


def open_case(judge: Judge, claim: Claim, terms: Terms) -> Case:
    """What is to be read for one claim. Raises Unusable when the judge cannot say whether it reads it."""
    passages = terms.sources.passages
    # A citation counts only where its mark leads to the passage it names: claims of another draft cite nothing here.
    cited = tuple(
        c.mark for c in claim.citations if 1 <= c.mark <= len(passages) and passages[c.mark - 1].id == c.passage_id
    )
    refused = refusal(judge, claim.text)
    marks = () if refused else tuple(mark for mark in range(1, len(passages) + 1) if mark not in terms.unread)
    words = content_words(claim.text)
    # No word in common, nothing to find; and a repair of what a person or a model cited needs more than one.
    least = terms.policy.kinship if cited else 0.0
    shares = {mark: share_held(words, terms.sources.words(mark)) for mark in marks}
    asked = tuple(mark for mark, share in shares.items() if mark in cited or (share > 0.0 and share >= least))
    return Case(claim, words, cited, marks, asked, refused)


def _slices(claims: Sequence[Claim], passages: int) -> Iterator[Sequence[Claim]]:
    step = max(1, min(_SLICE_CLAIMS, _SLICE_PAIRS // max(1, passages)))
    for start in range(0, len(claims), step):
        yield claims[start : start + step]


def _unchecked(claim: Claim, why: Unusable) -> Claim:
    return replace(claim, verdict=Verdict(reason=f"not checked: {why}"))


async def _look(judge: Judge, cases: Sequence[Case], terms: Terms) -> list[Found]:
    """What is found about each case; every round is one call, and no pair is asked twice. Raises Unusable."""
    inquiry = together([look_into(case, terms) for case in cases])
    known: dict[Pair, Entailment] = {}
    try:
        pairs = next(inquiry)
        while True:
            new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
            known.update(zip(new, await entail(judge, new), strict=True))
            pairs = inquiry.send([known[pair] for pair in pairs])
    except StopIteration as end:
        found: list[Found] = end.value
        return found
