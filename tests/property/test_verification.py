"""Laws of verification, for any judge and any text."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from veridical.text.claims import cite, find_claims
from veridical.text.marks import strip_marks
from veridical.types import Claim, Draft, Entailment, Label, Passage, Span, Verdict
from veridical.verification import fit, measure, repair_marks, verify

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
