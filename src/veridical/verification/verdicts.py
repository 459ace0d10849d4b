"""Claims and passages → verdicts and conflicts, in two calls of the judge.

The first call reads every claim beside every passage, cited or not, that shares a word with it. The second looks,
only where the first saw something, for the sentence that carries or contradicts a claim, and reads cited passages
together where none alone is enough. Many claims go in slices, so the judge and the memory see a bounded number of
pairs at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from veridical.types import Claim, Conflict, Entailment, Passage, Verdict
from veridical.verification.conflicts import find_conflict
from veridical.verification.decide import Found, Objection, Support, decide
from veridical.verification.entail import Unusable, entail, refusal, threshold_of
from veridical.verification.evidence import Narrowing, find_contradiction, find_support, plan_narrowing
from veridical.verification.overlap import content_words
from veridical.verification.policy import Policy, Verification
from veridical.verification.readings import TOGETHER, Case, Reading, Terms, read, weigh
from veridical.verification.sources import Sources

if TYPE_CHECKING:
    from veridical.ports import Judge

DEFAULT = Policy()
_UNRELATED = Entailment(0.0, 1.0, 0.0)  # said of a passage that shares no word with the claim, without asking
_SLICE_PAIRS = 4096  # (claim, passage) pairs held at once
_NARROWED = 2  # passages a claim in which the place of support is looked for, and as many for contradiction
_JOINED = 3  # cited passages that are read together


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
        terms = _terms(judge, passages, policy, language)
    except Unusable as why:
        return Verification(tuple(_unchecked(claim, why) for claim in claims))
    done: list[Claim] = []
    conflicts: list[Conflict] = []
    for some in _slices(claims, len(passages)):
        try:
            cases = [_open(judge, claim, terms) for claim in some]
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


def _terms(judge: Judge, passages: Sequence[Passage], policy: Policy, language: str) -> Terms:
    threshold = threshold_of(judge) if policy.threshold is None else policy.threshold
    refusals = {mark: refusal(judge, passage.text) for mark, passage in enumerate(passages, 1)}
    unread = {mark: why for mark, why in refusals.items() if why}
    return Terms(Sources(passages, language), policy, threshold, unread)


def _open(judge: Judge, claim: Claim, terms: Terms) -> Case:
    passages = terms.sources.passages
    # A citation counts only where its mark leads to the passage it names: claims of another draft cite nothing here.
    cited = tuple(
        c.mark for c in claim.citations if 1 <= c.mark <= len(passages) and passages[c.mark - 1].id == c.passage_id
    )
    refused = refusal(judge, claim.text)
    marks = () if refused else tuple(mark for mark in range(1, len(passages) + 1) if mark not in terms.unread)
    words = content_words(claim.text)
    # No word in common, nothing to find: such a passage is asked about only where it is cited.
    asked = tuple(mark for mark in marks if mark in cited or words & terms.sources.words(mark))
    return Case(claim, words, cited, marks, asked, refused)


def _slices(claims: Sequence[Claim], passages: int) -> Iterator[Sequence[Claim]]:
    step = max(1, _SLICE_PAIRS // max(1, passages))
    for start in range(0, len(claims), step):
        yield claims[start : start + step]


def _unchecked(claim: Claim, why: Unusable) -> Claim:
    return replace(claim, verdict=Verdict(reason=f"not checked: {why}"))


# ── the two looks ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the second look asks about one claim."""

    supports: tuple[tuple[Reading, Narrowing], ...] = ()
    gists: tuple[str, ...] = ()  # one a support
    objections: tuple[Narrowing, ...] = ()
    joint: tuple[str, ...] = ()  # the cited passages as one, then their gists

    @property
    def premises(self) -> list[str]:
        """In the order in which `_second_look` takes the answers."""
        asked: list[str] = []
        for (_, narrowing), gist in zip(self.supports, self.gists, strict=True):
            asked += (*narrowing.premises, gist)
        for narrowing in self.objections:
            asked += narrowing.premises
        return [*asked, *self.joint]


async def _look(judge: Judge, cases: Sequence[Case], terms: Terms) -> list[Found]:
    """Both looks at all cases; each look is one call. Raises Unusable when either fails."""
    pairs = [(terms.sources.premise(mark), case.claim.text) for case in cases for mark in case.asked]
    said = iter(await entail(judge, pairs))
    readings = [
        tuple(read(case, m, next(said) if m in case.asked else _UNRELATED, terms) for m in case.marks) for case in cases
    ]
    plans = [_plan(case, some, terms) for case, some in zip(cases, readings, strict=True)]
    places = [(p, case.claim.text) for case, plan in zip(cases, plans, strict=True) for p in plan.premises]
    again = iter(await entail(judge, places))
    return [
        _second_look(case.claim.text, Found(some), plan, again, terms)
        for case, some, plan in zip(cases, readings, plans, strict=True)
    ]


def _plan(case: Case, readings: Sequence[Reading], terms: Terms) -> _Plan:
    cited = [reading for reading in readings if reading.mark in case.cited]
    carrying = [r for r in cited if r.carries]
    joined = [r.mark for r in cited][:_JOINED] if not carrying else []
    carrying = carrying or [r for r in readings if r.carries]
    # Every passage may object to a claim that another supports; else only those it cites matter, or all without marks.
    scope = readings if carrying or not case.cited else cited
    against = [r for r in scope if r.found.contradiction >= terms.policy.contradiction]

    best = sorted(carrying, key=lambda reading: -reading.score)[:_NARROWED]
    worst = sorted(against, key=lambda reading: -reading.found.contradiction)[:_NARROWED]
    sources = terms.sources
    return _Plan(
        tuple((reading, plan_narrowing(case, reading.mark, sources)) for reading in best),
        tuple(sources.gist(reading.mark, case.words) for reading in best),
        tuple(plan_narrowing(case, reading.mark, sources) for reading in worst),
        _joint_premises(case, joined, sources) if len(joined) > 1 else (),
    )


def _joint_premises(case: Case, marks: Sequence[int], sources: Sources) -> tuple[str, ...]:
    gists = [gist for mark in marks if (gist := sources.gist(mark, case.words))]
    return ("\n\n".join(map(sources.premise, marks)), "\n\n".join(gists)) if gists else ()


def _second_look(claim: str, found: Found, plan: _Plan, said: Iterator[Entailment], terms: Terms) -> Found:
    supports = []
    for reading, narrowing in plan.supports:
        evidence, strength = find_support(
            narrowing, _take(said, len(narrowing.premises) + 1), terms.threshold, terms.sources
        )
        supports.append(Support(reading, evidence, strength))
    objections = []
    for narrowing in plan.objections:
        place = find_contradiction(narrowing, _take(said, len(narrowing.premises)), terms.policy, terms.sources)
        if place is not None:
            objections.append(Objection(narrowing.mark, place))
    joint = None
    if plan.joint:
        weakest = min(_take(said, len(plan.joint)), key=lambda one: one.entailment)
        joint = weigh(claim, Reading(TOGETHER, weakest, weakest.entailment), plan.joint[0], terms)
    return replace(found, supports=tuple(supports), objections=tuple(objections), joint=joint)


def _take(said: Iterator[Entailment], count: int) -> list[Entailment]:
    return [next(said) for _ in range(count)]
