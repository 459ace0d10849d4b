"""Laws of verification, for any judge and any text."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from veridical.text.claims import cite, find_claims
from veridical.text.marks import strip_marks
from veridical.types import Claim, Draft, Entailment, Label, Passage, Span, Verdict
from veridical.verification import Policy, fit, measure, repair_marks, verify
from veridical.verification.conflicts import find_conflict
from veridical.verification.decide import Found, Objection, Support, decide
from veridical.verification.evidence import Places, contradicts
from veridical.verification.readings import TOGETHER, Reading, read, weigh
from veridical.verification.verdicts import open_case, set_terms

TEXTS = ("The bridge opened in 1913. It has five arches.", "The lighthouse is old. Nobody lives there.", "Bread.")
PASSAGES = tuple(
    Passage(f"p{n}", f"d{n}", text, Span(50, 50 + len(text)), f"Title {n}") for n, text in enumerate(TEXTS, 1)
)

WORDS = st.sampled_from(
    ["It fell", "the bridge", "in 1913", "Mr. Hale", "at 5 p.m.", "3.5 m", "中文", "a", "\n- one", "|"]
)
MARKS = st.sampled_from(["", "", " [1]", "[2]", " [3]", " [1][2]", " [2, 3]", " [1-3]", " [9]", " [2] [3]"])
ENDINGS = st.sampled_from([". ", "! ", "? ", ".” ", " ", "\n\n", "。", "… ", ".) ", ""])
ANSWERS = st.lists(st.tuples(WORDS, MARKS, WORDS, MARKS, ENDINGS, MARKS), max_size=6).map(
    lambda parts: "".join(" ".join(part[:1]) + part[1] + " " + "".join(part[2:]) + " " for part in parts)
)
NOISE = st.text(alphabet=st.sampled_from("ab Z.!?\n[]123,-–|中。 "), max_size=120)

SHARE = st.floats(0.0, 1.0)
ENTAILMENTS = st.tuples(SHARE, SHARE).map(
    lambda p: Entailment(min(p), max(p) - min(p), 1.0 - max(p))  # two cuts of the unit line
)


class Fickle:
    """Says whatever it is given, in turn."""

    def __init__(self, said: Sequence[object], threshold: float = 0.5) -> None:
        self.said, self.threshold = list(said), threshold

    def declines(self, text: str) -> str:
        return ""

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        return [self.said[n % len(self.said)] for n in range(len(pairs))]  # type: ignore[misc]


@given(ANSWERS, st.lists(ENTAILMENTS, min_size=1, max_size=8), st.floats(0.05, 1.0))
def test_a_verdict_never_says_more_than_it_can_show(text: str, said: list[Entailment], threshold: float) -> None:
    claims = find_claims(Draft(text, PASSAGES))
    found = asyncio.run(verify(Fickle(said, threshold), claims, PASSAGES))
    assert [replace(claim, verdict=Verdict()) for claim in found.claims] == list(claims)
    for claim in found.claims:
        verdict = claim.verdict
        assert verdict.score is not None
        assert 0.0 <= verdict.score <= 1.0
        assert verdict.reason
        assert (verdict.score >= threshold) == (verdict.label is Label.SUPPORTED)
        if verdict.label is Label.UNVERIFIED:
            assert (verdict.cited, verdict.repair, verdict.evidence) == (False, (), None)
            continue
        assert verdict.evidence is not None
        source = verdict.evidence.source
        assert source.span.shift(-50).of(TEXTS[source.mark - 1]) == verdict.evidence.text
        if verdict.label is Label.SUPPORTED:
            assert verdict.cited is not bool(verdict.repair)
            assert not {c.mark for c in verdict.repair} & {c.mark for c in claim.citations}
            assert not verdict.cited or source.mark in {c.mark for c in claim.citations}


@given(ANSWERS, SHARE.filter(lambda p: p < 0.5))
def test_what_no_passage_carries_is_never_supported(text: str, low: float) -> None:
    found = asyncio.run(verify(Fickle([Entailment(low, 1.0 - low, 0.0)]), find_claims(Draft(text, PASSAGES)), PASSAGES))
    assert all(claim.verdict.label is Label.UNVERIFIED for claim in found.claims)
    assert not found.verified


NONSENSE = st.one_of(
    st.none(),
    st.text(max_size=3),
    st.floats(),
    st.tuples(SHARE, SHARE, SHARE),
    st.builds(Entailment, st.just(math.nan), SHARE, SHARE),
    st.builds(Entailment, SHARE, st.floats(1.1, 9.0), SHARE),
)


@given(ANSWERS, st.lists(ENTAILMENTS, max_size=3), NONSENSE)
def test_a_judge_that_errs_once_supports_nothing(text: str, said: list[Entailment], nonsense: object) -> None:
    claims = find_claims(Draft(text, PASSAGES))
    found = asyncio.run(verify(Fickle([nonsense, *said]), claims, PASSAGES))
    assert all(claim.verdict.label is Label.UNVERIFIED and not claim.verdict.score for claim in found.claims)


# ── asking less ──────────────────────────────────────────────────────────────────────────────────

STATEMENTS = st.lists(
    st.sampled_from(
        ["bridge", "opened", "1913", "five", "arches", "lighthouse", "old", "harbour", "tall", "the", "was"]
    ),
    min_size=2,
    max_size=7,
).map(lambda words: " ".join(words).capitalize() + ".")
SOURCES = st.lists(
    st.tuples(st.sampled_from(["", "Bridge", "Harbour"]), st.lists(STATEMENTS, min_size=1, max_size=5).map(" ".join)),
    min_size=1,
    max_size=6,
)
CLAIMS = st.lists(st.tuples(STATEMENTS, st.lists(st.integers(1, 6), max_size=3, unique=True)), min_size=1, max_size=4)
KINDS = (
    Entailment(0.9, 0.1, 0.0),
    Entailment(0.6, 0.3, 0.1),
    Entailment(0.3, 0.6, 0.1),
    Entailment(0.1, 0.9, 0.0),
    Entailment(0.02, 0.08, 0.9),
    Entailment(0.1, 0.2, 0.7),
)


class Oracle:
    """Says of each pair what its hash says, every time the same."""

    threshold = 0.5

    def __init__(self, salt: int) -> None:
        self.salt = salt
        self.calls: list[list[tuple[str, str]]] = []

    def declines(self, text: str) -> str:
        return ""

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        self.calls.append(list(pairs))
        return [self.say(*pair) for pair in pairs]

    def say(self, premise: str, claim: str) -> Entailment:
        digest = hashlib.blake2b(f"{self.salt}|{premise}|{claim}".encode()).digest()
        kind, tilt = KINDS[digest[0] % len(KINDS)], digest[1] / 255 * 0.02
        return Entailment(kind.entailment, kind.neutral - tilt, kind.contradiction + tilt)


def judge_in_full(judge: Oracle, claim: Claim, passages: Sequence[Passage], policy: Policy) -> tuple[Verdict, object]:
    """The verdict as it is defined, everything asked whether it matters or not."""
    terms = set_terms(judge, passages, policy, "en")
    case, sources = open_case(judge, claim, terms), terms.sources
    nothing = Entailment(0.0, 1.0, 0.0)

    def ask(premise: str) -> Entailment:
        return judge.say(premise, claim.text)

    def support(reading: Reading) -> Support:
        places = Places(case, reading.mark, sources)
        best = sorted(places.sentences, key=lambda w: -ask(w.premise).entailment)
        best_two = sorted(places.twos, key=lambda w: -ask(w.premise).entailment)
        gist = ask(sources.gist(reading.mark, case.words)).entailment
        strength = max([gist, *(ask(w.premise).entailment for w in (*best, *best_two))])
        for window in (*best[:1], *best_two[:1]):
            if ask(window.premise).entailment >= terms.threshold:
                return Support(reading, places.quote(window), strength)
        return Support(reading, sources.evidence(reading.mark) if gist >= terms.threshold else None, strength)

    def objection(places: Places) -> Objection | None:
        for windows in places.objecting(policy):
            against = [w for w in windows if contradicts(claim.text, w.premise, ask(w.premise), policy)]
            if against:
                return Objection(
                    places.mark, places.quote(max(against, key=lambda window: ask(window.premise).contradiction))
                )
        return None

    readings = [read(case, m, ask(sources.premise(m)) if m in case.asked else nothing, terms) for m in case.marks]
    cited = [reading for reading in readings if reading.mark in case.cited]
    right = [reading for reading in cited if reading.carries]
    best = sorted(right or [r for r in readings if r.carries], key=lambda reading: -reading.score)[:2]
    scope = readings if best or not case.cited else cited
    able = [p for r in scope if r.mark in case.asked and (p := Places(case, r.mark, sources)).can_object(policy)]
    able.sort(key=lambda places: (places.mark not in case.cited, -places.share))
    against = {r.mark: r.found.contradiction for r in readings if r.found.contradiction >= policy.contradiction}
    objections = [one for p in able[:4] if p.mark in against and (one := objection(p))]
    objections.sort(key=lambda one: -against[one.mark])
    joint, gists = None, [g for r in cited[:3] if (g := sources.gist(r.mark, case.words))]
    if len(cited) > 1 and gists and not right:
        premise = "\n\n".join(sources.premise(reading.mark) for reading in cited[:3])
        weakest = min(ask(premise), ask("\n\n".join(gists)), key=lambda one: one.entailment)
        joint = weigh(claim.text, Reading(TOGETHER, weakest, weakest.entailment), premise, terms)
    found = Found(tuple(cited if right else readings), tuple(map(support, best)), tuple(objections), joint)
    verdict = decide(case, found, terms)
    return verdict, find_conflict(claim.text, verdict, found, terms)


@given(SOURCES, CLAIMS, st.integers(0, 999), st.sampled_from([0.0, 0.2, 0.5]), st.sampled_from([0.0, 0.2, 0.4, 0.6]))
def test_asking_only_what_matters_gives_the_verdicts_of_asking_everything(
    sources: list[tuple[str, str]], said: list[tuple[str, list[int]]], salt: int, kinship: float, overlap: float
) -> None:
    passages = [Passage(f"p{n}", f"d{n}", text, Span(0, len(text)), title) for n, (title, text) in enumerate(sources)]
    claims = [
        Claim(text, Span(0, len(text)), tuple(cite(m, passages[m - 1]) for m in marks if m <= len(passages)))
        for text, marks in said
    ]
    judge, policy = Oracle(salt), Policy(kinship=kinship, overlap=overlap)
    found = asyncio.run(verify(judge, claims, passages, policy))
    wanted = [judge_in_full(judge, claim, passages, policy) for claim in claims]
    assert [claim.verdict for claim in found.claims] == [verdict for verdict, _ in wanted]
    assert found.conflicts == tuple(dict.fromkeys(conflict for _, conflict in wanted if conflict))
    asked = [pair for call in judge.calls for pair in call]
    assert len(judge.calls) <= 3
    assert len(asked) == len(set(asked))


# ── repair ───────────────────────────────────────────────────────────────────────────────────────


@given(st.one_of(ANSWERS, NOISE), st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_a_repaired_text_is_read_back_as_the_same_claims(text: str, marks: list[int]) -> None:
    claims = [_carried(claim, marks[n % len(marks)]) for n, claim in enumerate(find_claims(Draft(text, PASSAGES)))]
    new, repaired = repair_marks(text, claims, PASSAGES)
    assert [claim.text for claim in repaired] == [claim.text for claim in claims]
    for old, claim in zip(claims, repaired, strict=True):
        assert strip_marks(claim.span.of(new)) == claim.text
        assert claim.verdict.cited == (claim.citations != old.citations or old.verdict.cited) or claim == old
    found = find_claims(Draft(new, PASSAGES))
    assert [(c.text, c.span, c.citations) for c in found] == [(c.text, c.span, c.citations) for c in repaired]
    assert repair_marks(new, repaired, PASSAGES) == (new, repaired)


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["", " [1]", " [2]", " [3][1]"])), min_size=1, max_size=6))
def test_plain_sentences_are_always_repaired(plan: list[tuple[int, str]]) -> None:
    text = " ".join(f"The bridge fell in {1900 + n}{marks}." for n, (_, marks) in enumerate(plan))
    claims = [_carried(c, mark) for c, (mark, _) in zip(find_claims(Draft(text, PASSAGES)), plan, strict=True)]
    _, repaired = repair_marks(text, claims, PASSAGES)
    assert all(claim.verdict.cited for claim in repaired)
    for claim, (mark, _) in zip(repaired, plan, strict=True):
        assert mark in [citation.mark for citation in claim.citations]


def _carried(claim: Claim, mark: int) -> Claim:
    """The claim as verified: by a passage it cites, else by the uncited one of that mark, or (0) not at all."""
    if mark == 0:
        return claim
    if mark in [citation.mark for citation in claim.citations]:
        return replace(claim, verdict=Verdict(Label.SUPPORTED, 0.9, cited=True))
    return replace(claim, verdict=Verdict(Label.SUPPORTED, 0.9, repair=(cite(mark, PASSAGES[mark - 1]),)))


# ── calibration ──────────────────────────────────────────────────────────────────────────────────


@given(st.lists(st.tuples(SHARE, st.booleans()), min_size=1, max_size=60))
def test_a_stricter_threshold_never_shows_more_and_bounds_hold_the_risk(pairs: list[tuple[float, bool]]) -> None:
    calibration = fit(pairs)
    assert calibration == fit(pairs[::-1])
    assert 0.0 <= calibration.aurc <= 1.0
    assert 0.0 <= calibration.ece <= 1.0
    for point in calibration.curve:
        assert point.risk is not None
        assert point.risk <= point.bound <= 1.0
        assert point == measure(pairs, point.threshold)
    coverages = [point.coverage for point in calibration.curve]
    assert coverages == sorted(coverages)
