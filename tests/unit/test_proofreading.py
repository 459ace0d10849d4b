"""Any text checked: against given passages by its marks, or against what is found for each sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import fields, replace

import pytest

from unit.kits import PASSAGES, make_kit, passage
from veridical.budget import Budget
from veridical.errors import IndexMissing, ModelUnavailable
from veridical.events import Decided, Ended, Event, Pending, Started
from veridical.kit import Kit
from veridical.models.fake import FakeRetriever
from veridical.models.verbatim import Verbatim, WordForWord
from veridical.proofreading import check_text
from veridical.text.marks import keep_valid_marks
from veridical.types import Answer, Claim, Entailment, Filter, Label, Passage, Status
from veridical.verification import Verification

TEXT = "The bridge opened in 1913. [1] It has five arches. [2] It is red [1]."


def check(text: str, passages: Sequence[Passage] | None = None, **kit: object) -> Answer:
    return asyncio.run(check_text(make_kit(**kit), text, passages))  # type: ignore[arg-type]


def test_marks_mean_the_given_passages() -> None:
    answer = check(TEXT, PASSAGES)
    assert [(claim.verdict.label, claim.verdict.cited) for claim in answer.claims] == [
        (Label.SUPPORTED, True),
        (Label.SUPPORTED, False),
        (Label.UNVERIFIED, False),
    ]
    assert [citation.mark for citation in answer.claims[1].verdict.repair] == [1]
    assert (answer.status, answer.question, answer.text) == (Status.PARTIAL, "", TEXT)
    assert [source.mark for source in answer.sources] == [1, 2]


def test_the_text_stays_as_it_is_and_spans_are_into_it() -> None:
    text = "  The bridge opened\nin 1913 [7]. Nobody lives there now."
    answer = check(text, PASSAGES)
    assert answer.text == text
    assert [claim.span.of(text) for claim in answer.claims] == [
        "The bridge opened\nin 1913 [7].",
        "Nobody lives there now.",
    ]
    assert answer.invalid_marks == 1


def test_without_passages_each_sentence_is_checked_against_what_is_found_for_it() -> None:
    many = tuple(passage(n, f"Fact number {n} is true.", f"Facts {n}") for n in range(1, 9))
    answer = check("Fact number 7 is true. Fact number 3 is true. Fact number 12 is true.", passages=many)
    assert [claim.verdict.label for claim in answer.claims] == [Label.SUPPORTED, Label.SUPPORTED, Label.UNVERIFIED]
    by_mark = {source.mark: source for source in answer.sources}
    assert sorted(by_mark) == list(range(1, len(answer.sources) + 1))
    for claim, document in zip(answer.claims, ("d7", "d3"), strict=False):
        assert claim.verdict.evidence is not None
        place = claim.verdict.evidence.source
        assert place.document_id == document == by_mark[place.mark].document_id
        assert by_mark[claim.verdict.repair[0].mark].document_id == document


def test_a_conflict_between_found_passages_keeps_the_right_numbers() -> None:
    found = (
        passage(1, "The lamp is green."),
        passage(2, "The bridge opened in 1911."),
        passage(3, "The bridge opened in 1913."),
    )
    answer = check("The lamp is green. The bridge opened in 1913.", passages=found, judge=Denies1911())
    (conflict,) = answer.conflicts
    by_mark = {source.mark: source.document_id for source in answer.sources}
    assert by_mark[conflict.one.source.mark] == "d3"
    assert by_mark[conflict.other.source.mark] == "d2"


class Denies1911(Verbatim):
    """Word for word, and whoever says 1911 contradicts 1913."""

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        said = await super().entail(pairs)
        return [
            Entailment(0.0, 0.02, 0.98) if "1911" in premise and "1913" in claim else one
            for (premise, claim), one in zip(pairs, said, strict=True)
        ]


@pytest.mark.parametrize("given", [True, False])
def test_a_conflict_is_told_once_however_often_the_claim_is_made(given: bool) -> None:
    found = (passage(2, "The bridge opened in 1911."), passage(3, "The bridge opened in 1913."))
    text = "The bridge opened in 1913. " * 70  # more than a slice
    answer = check(text, found, judge=Denies1911()) if given else check(text, passages=found, judge=Denies1911())
    assert len(answer.claims) == 70
    assert len(answer.conflicts) == 1


def test_invalid_marks_are_counted_as_in_an_answer() -> None:
    text = "The bridge opened in 1913 [7]. It has five arches [7][1, 9]. Nobody lives there now [1-9999]."
    assert check(text, PASSAGES).invalid_marks == keep_valid_marks(text, len(PASSAGES))[1] == 4


def test_against_the_index_marks_mean_nothing_and_none_is_invalid() -> None:
    assert check("The bridge opened in 1913 [7].").invalid_marks == 0


def test_an_error_while_claims_are_checked_side_by_side_is_told_as_it_is() -> None:
    class Broken(Kit):
        async def check(self, claims: Sequence[Claim], passages: Sequence[Passage]) -> Verification:
            if "five" in claims[0].text:
                raise ModelUnavailable("it is gone", fix="bring it back")
            await asyncio.sleep(60)
            raise AssertionError("the others must not go on")

    kit = make_kit()
    broken = Broken(**{field.name: getattr(kit, field.name) for field in fields(kit) if field.init})

    async def main() -> None:
        with pytest.raises(ModelUnavailable, match="it is gone"):
            await check_text(broken, "The bridge opened in 1913. It has five arches.")
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


@pytest.mark.parametrize("text", ["", "  \n ", "—"])
def test_a_text_without_sentences_is_never_verified(text: str) -> None:
    answer = check(text, PASSAGES)
    assert (answer.status, answer.claims) == (Status.ABSTAINED, ())
    assert answer.reason


def test_nothing_to_check_against_is_an_error() -> None:
    with pytest.raises(IndexMissing, match="nothing to check against"):
        asyncio.run(check_text(replace(make_kit(), retriever=None), TEXT))


def test_every_sentence_is_an_event_and_the_span_knows_how_many() -> None:
    seen: list[Event] = []
    check(TEXT, PASSAGES, seen=seen)
    assert isinstance(seen[0], Started)
    assert (seen[0].name, seen[0].detail) == ("verify", {"claims": 3})
    assert [e.number for e in seen if isinstance(e, Pending)] == [1, 2, 3]
    assert [e.number for e in seen if isinstance(e, Decided)] == [1, 2, 3]
    assert isinstance(seen[-1], Ended)


def test_a_long_text_goes_in_slices_and_no_budget_ends_it() -> None:
    asked: list[int] = []

    class Counting(FakeRetriever):
        async def search(
            self, queries: Sequence[str], k: int, where: Filter | None = None
        ) -> Sequence[Sequence[Passage]]:
            asked.append(len(queries))
            return await super().search(queries, k, where)

    text = " ".join(f"Sentence number {n} stands here." for n in range(300))
    kit = replace(make_kit(budget=Budget(seconds=0.0)), retriever=Counting(PASSAGES))
    answer = asyncio.run(check_text(kit, text))
    assert len(answer.claims) == 300
    assert max(asked) <= 64
    assert sum(asked) == 300


class EnglishOnly(Verbatim):
    """Supports everything it reads, and declines what is in German."""

    threshold = 0.5

    def declines(self, text: str) -> str:
        return "it reads English only" if "ist" in text.split() else ""

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        assert not any(self.declines(text) for pair in pairs for text in pair)
        return [Entailment(0.9, 0.1, 0.0) for _ in pairs]


GERMAN = (passage(1, "Die Brücke ist seit 1913 offen. Das Licht ist älter."), passage(2, "The lighthouse is old."))


def check_german(text: str) -> Answer:
    judge = EnglishOnly()
    return asyncio.run(check_text(replace(make_kit(judge=judge), word_for_word=WordForWord(judge)), text, GERMAN))


def test_what_the_judge_declines_is_supported_word_for_word_only() -> None:
    answer = check_german("Das Licht ist älter. [1] Das Licht ist neuer. [1] The lighthouse is very old. [2]")
    assert [claim.verdict.label for claim in answer.claims] == [Label.SUPPORTED, Label.UNVERIFIED, Label.SUPPORTED]
    evidence = answer.claims[0].verdict.evidence
    assert evidence is not None
    assert evidence.text == "Das Licht ist älter."
    assert answer.claims[1].verdict.reason == "not checked: it reads English only"


def test_a_wrong_mark_of_a_declined_sentence_is_repaired_too() -> None:
    (claim,) = check_german("Das Licht ist älter. [2]").claims
    assert (claim.verdict.label, claim.verdict.cited) == (Label.SUPPORTED, False)
    assert [citation.mark for citation in claim.verdict.repair] == [1]


def test_word_for_word_says_nothing_of_what_the_judge_has_read() -> None:
    pairs = [(GERMAN[1].text, GERMAN[1].text), (GERMAN[0].text, "Das Licht ist älter.")]
    found = asyncio.run(WordForWord(EnglishOnly()).entail(pairs))
    assert [one.entailment for one in found] == [0.0, 1.0]


def test_the_sign_of_a_list_item_is_no_part_of_its_claim() -> None:
    text = "1. The bridge opened in 1913 [1].\n2) It has five arches [1].\n- a) It is red.\n3."
    answer = check(text, PASSAGES)
    assert [claim.text for claim in answer.claims] == [
        "The bridge opened in 1913.",
        "It has five arches.",
        "It is red.",
    ]
    assert [claim.span.of(text) for claim in answer.claims[:2]] == [
        "The bridge opened in 1913 [1].",
        "It has five arches [1].",
    ]
    assert [claim.verdict.label for claim in answer.claims[:2]] == [Label.SUPPORTED] * 2
    assert str(answer) == text.replace("It is red.", "~~It is red.~~")


@pytest.mark.parametrize("sentence", ["3. Oktober 1990 war ein Mittwoch.", "A. Smith left.", "- 5 °C was measured."])
def test_a_number_or_initial_that_belongs_to_the_claim_stays(sentence: str) -> None:
    assert [claim.text for claim in check(sentence, PASSAGES).claims] == [sentence]


def test_an_item_of_a_source_may_be_quoted_without_its_number() -> None:
    numbered = (passage(1, "1. Turn the key.\n2. Push the door."),)
    assert [claim.verdict.label for claim in check("Push the door. [1] Push. [1]", numbered).claims] == [
        Label.SUPPORTED,
        Label.UNVERIFIED,
    ]
