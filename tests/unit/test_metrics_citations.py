"""Citation recall and precision, worked by hand. φ is a table: the pairs that entail; all others do not."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import ModelOutputInvalid
from veridical.metrics.citations import (
    CitationScores,
    Cited,
    Mark,
    Sentence,
    average_citations,
    citation_scores,
    cite_items,
    cite_sentences,
    join_passages,
    needed_pairs,
    score_citations,
)
from veridical.metrics.nli import Pair, decide
from veridical.metrics.statements import ALCE, OURS, Statement, alce_strip, read_items, read_sentences
from veridical.types import Draft, Entailment, Passage, Span


def passage(number: int, title: str = "") -> Passage:
    return Passage(str(number), str(number), f"p{number}", Span(0, 2), title=title)


PASSAGES = tuple(passage(number) for number in range(1, 6))


def cited(*statements: tuple[str, Sequence[int]]) -> Cited:
    return Cited(tuple(Statement(text, tuple(marks), Span(0, 0)) for text, marks in statements), PASSAGES)


def score(one: Cited, entailing: Iterable[str], asked: list[Pair] | None = None) -> CitationScores:
    """`entailing` are premises such as "p1+p2" that entail every hypothesis."""
    premises = {premise.replace("+", "\n") for premise in entailing}
    known: dict[Pair, bool] = {}
    rounds = 0
    while pairs := needed_pairs(one, known):
        known.update({pair: pair[0] in premises for pair in pairs})
        rounds += 1
    assert rounds <= 3
    if asked is not None:
        asked += known
    return score_citations(one, known)


def marks_of(scores: CitationScores, statement: int = 0) -> list[Mark]:
    return [mark for _, mark in scores.outcomes[statement].marks]


# ── by hand ──────────────────────────────────────────────────────────────────────────────────────


def test_recall_and_precision_of_a_whole_answer() -> None:
    # A [1]        p1 entails                            recalled, 1 of 1 precise
    # B [2][3]     p2+p3 entails, p2 alone too, p3 not;
    #              p2 without p3 entails → 3 irrelevant  recalled, 1 of 2 precise
    # C [4]        p4 does not entail                    not recalled, 0 of 1
    # D            no mark                               not recalled, no marks
    # recall 2/4, precision 2/4
    scores = score(cited(("A", [1]), ("B", [2, 3]), ("C", [4]), ("D", [])), ["p1", "p2+p3", "p2"])
    assert [outcome.result for outcome in scores.outcomes] == [
        Sentence.RECALLED,
        Sentence.RECALLED,
        Sentence.UNSUPPORTED,
        Sentence.UNCITED,
    ]
    assert scores.outcomes[1].marks == ((2, Mark.PRECISE), (3, Mark.IRRELEVANT))
    assert marks_of(scores, 2) == [Mark.UNSUPPORTED]
    assert scores.recall == pytest.approx(2 / 4)
    assert scores.precision == pytest.approx(2 / 4)


def test_marks_that_are_needed_together_are_precise() -> None:
    # p1+p2 entails, neither alone: without 1 there is p2, which fails, so 1 is needed; the same for 2. 2/2.
    scores = score(cited(("A", [1, 2])), ["p1+p2"])
    assert marks_of(scores) == [Mark.PRECISE, Mark.PRECISE]
    assert (scores.recall, scores.precision) == (1.0, 1.0)


def test_only_the_first_three_marks_count() -> None:
    # [1][2][3][4][5]: the premise is p1+p2+p3. Alone only p3 entails; without 1: p2+p3 entails, without 2: p1+p3
    # does not. So 1 irrelevant, 2 and 3 precise: precision 2/3; 4 and 5 are in no denominator.
    scores = score(cited(("A", [1, 2, 3, 4, 5])), ["p1+p2+p3", "p3", "p2+p3"])
    assert marks_of(scores) == [Mark.IRRELEVANT, Mark.PRECISE, Mark.PRECISE, Mark.UNCOUNTED, Mark.UNCOUNTED]
    assert scores.precision == pytest.approx(2 / 3)


def test_a_mark_out_of_range_fails_its_sentence_and_leaves_the_denominator() -> None:
    # A [1][6]: 6 of 5 passages → A is 0, and neither mark counts. B [1] is recalled. Recall 1/2, precision 1/1.
    scores = score(cited(("A", [1, 6]), ("B", [1])), ["p1"])
    assert scores.outcomes[0].result is Sentence.OUT_OF_RANGE
    assert marks_of(scores) == [Mark.EXCLUDED, Mark.OUT_OF_RANGE]
    assert (scores.recall, scores.precision) == (0.5, 1.0)


@pytest.mark.parametrize("marks", [[0], [1, 2, 3, 9]])
def test_zero_and_a_fourth_mark_can_be_out_of_range_too(marks: list[int]) -> None:
    scores = score(cited(("A", marks)), ["p1", "p1+p2+p3", "p5"])
    assert scores.outcomes[0].result is Sentence.OUT_OF_RANGE
    assert (scores.recall, scores.precision) == (0.0, 0.0)


def test_without_marks_or_without_sentences_both_are_zero() -> None:
    assert score(cited(("A", [])), []).precision == 0.0
    empty = score(cited(), [])
    assert (empty.recall, empty.precision) == (0.0, 0.0)


def test_a_repeated_mark_counts_twice_when_the_reading_keeps_it() -> None:
    # [1][1] with premise p1+p1: p1 alone entails, so both are precise: 2/2. ALCE keeps repeats, our reading does not.
    assert marks_of(score(cited(("A", [1, 1])), ["p1+p1", "p1"])) == [Mark.PRECISE, Mark.PRECISE]


def test_means_are_over_examples_that_have_a_sentence() -> None:
    # recalls 1 and 0, precisions 1 and 0 → 1/2 each; the empty answer is counted apart.
    found = average_citations([score(cited(("A", [1])), ["p1"]), score(cited(("A", [2])), []), score(cited(), [])])
    assert (found.recall, found.precision, found.examples, found.empty) == (0.5, 0.5, 2, 1)
    assert average_citations([]).recall == 0.0


# ── what is asked ────────────────────────────────────────────────────────────────────────────────


def test_only_needed_pairs_are_asked() -> None:
    asked: list[Pair] = []
    # A: together. B fails together, so nothing more. C: together, each alone, and what 2 leaves: p1, known already.
    score(cited(("A", [3]), ("B", [4, 5]), ("C", [1, 2])), ["p3", "p1+p2", "p1"], asked)
    assert asked == [("p3", "A"), ("p4\np5", "B"), ("p1\np2", "C"), ("p1", "C"), ("p2", "C")]


def test_the_premise_is_title_and_text() -> None:
    assert join_passages([passage(1, "One"), passage(2)]) == "Title: One\np1\np2"


def test_a_missing_answer_is_an_error_and_not_a_score() -> None:
    with pytest.raises(KeyError):
        score_citations(cited(("A", [1])), {})


# ── reading answers ──────────────────────────────────────────────────────────────────────────────


def test_sentences_lose_their_marks_and_keep_their_place() -> None:
    text = "It opened in 1889 [1, 3]. Dr. Eiffel built it.[2]\n\n---\n\nIt is tall [1-3]."
    found = read_sentences(text)
    assert [(one.text, one.marks) for one in found] == [
        ("It opened in 1889.", (1, 3)),
        ("Dr. Eiffel built it.", (2,)),
        ("It is tall.", (1, 2, 3)),
    ]
    assert found[1].span.of(text) == "Dr. Eiffel built it.[2]"


def test_the_public_reading_sees_the_number_after_each_bracket() -> None:
    (one,) = read_sentences("It opened [1, 3][2][2].", ALCE)
    assert (one.text, one.marks) == ("It opened, 3.", (1, 2, 2))
    assert alce_strip("[1] a [12 | 3] b|]") == "a 3 b|"


def test_list_items_are_judged_with_the_question() -> None:
    # The final full stop goes first; the comma inside [1, 2] is no break.
    text = "Heat [1, 2], Strain, Wounded Man [7]."
    found = read_items("Which manga?", text)
    assert [(one.text, one.marks) for one in found] == [
        ("Which manga? Heat", (1, 2)),
        ("Which manga? Strain", ()),
        ("Which manga? Wounded Man", (7,)),
    ]
    assert [one.span.of(text) for one in found] == ["Heat [1, 2]", "Strain", "Wounded Man [7]"]
    assert read_items("Which?", " , ") == ()


def test_a_draft_is_scored_by_sentence_or_by_item() -> None:
    draft = Draft("A [1], B [2]", PASSAGES)
    assert [one.text for one in cite_sentences(draft).statements] == ["A, B"]
    # Items: "q A" by p1 recalled, "q B" by p2 not → 1/2 and 1/2.
    scores = score(cite_items("q", draft), ["p1"])
    assert (scores.recall, scores.precision) == (0.5, 0.5)


# ── by a judge ───────────────────────────────────────────────────────────────────────────────────


class TableJudge:
    """Entailment by premise; batches are recorded."""

    threshold = 0.6

    def __init__(self, scores: Mapping[str, float], unreadable: str = "") -> None:
        self.scores, self.unreadable = scores, unreadable
        self.batches: list[list[Pair]] = []

    def declines(self, text: str) -> str:
        return "cannot read it" if text == self.unreadable else ""

    async def entail(self, pairs: Sequence[Pair]) -> Sequence[Entailment]:
        self.batches.append(list(pairs))
        return [Entailment(self.scores.get(premise, 0.0), 1 - self.scores.get(premise, 0.0), 0) for premise, _ in pairs]


def test_many_answers_take_three_batches() -> None:
    judge = TableJudge({"p1": 0.6, "p2": 0.59, "p1\np2": 0.9, "p1\np2\np3": 0.9})
    drafts = [Draft("A [1].", PASSAGES), Draft("B [2].", PASSAGES), Draft("C [1][2][3].", PASSAGES)]
    one, two, three = asyncio.run(citation_scores(judge, [cite_sentences(draft) for draft in drafts]))
    assert (one.recall, two.recall, three.recall) == (1.0, 0.0, 1.0)  # 0.6 is enough, 0.59 is not
    # C: 1 alone suffices; 2 fails alone and p1+p3 does not entail → needed; 3 fails and p1+p2 entails → irrelevant
    assert marks_of(three) == [Mark.PRECISE, Mark.PRECISE, Mark.IRRELEVANT]
    assert len(judge.batches) == 3
    assert asyncio.run(citation_scores(judge, [cite_sentences(drafts[1])], threshold=0.5))[0].recall == 1.0


def test_what_a_judge_declines_or_gets_wrong_is_not_entailed() -> None:
    judge = TableJudge({"p1": math.nan, "p2": 1.0, "p3": 1.0}, unreadable="p2")
    found = asyncio.run(decide(judge, [("p1", "A"), ("p2", "A"), ("p3", "A"), ("p3", "A")]))
    assert found == {("p1", "A"): False, ("p2", "A"): False, ("p3", "A"): True}
    assert judge.batches == [[("p1", "A"), ("p3", "A")]]
    assert asyncio.run(decide(judge, [])) == {}


def test_a_judge_that_loses_pairs_is_refused() -> None:
    class Forgetful(TableJudge):
        async def entail(self, pairs: Sequence[Pair]) -> Sequence[Entailment]:
            return []

    with pytest.raises(ModelOutputInvalid):
        asyncio.run(decide(Forgetful({}), [("p1", "A")]))


# ── generated ────────────────────────────────────────────────────────────────────────────────────

answers = st.lists(
    st.tuples(st.sampled_from("ABCDE"), st.lists(st.integers(0, 6), max_size=5).map(tuple)), max_size=5
).map(lambda statements: cited(*statements))
phis = st.dictionaries(st.text("12345", min_size=1, max_size=3), st.booleans())


def _phi(table: Mapping[str, bool], pair: Pair) -> bool:
    return table.get(pair[0].replace("p", "").replace("\n", ""), False)


@given(answers, phis)
def test_scores_follow_the_definition_read_word_for_word(one: Cited, table: Mapping[str, bool]) -> None:
    """The definition again, with φ called wherever it stands instead of planned."""

    def entails(marks: Sequence[int], text: str) -> bool:
        return _phi(table, ("\n".join(f"p{mark}" for mark in marks), text))

    recalled = precise = counted = 0
    for statement in one.statements:
        marks = statement.marks[:3]
        if any(not 1 <= mark <= 5 for mark in statement.marks):
            continue
        counted += len(marks)
        if not marks or not entails(marks, statement.text):
            continue
        recalled += 1
        for mark in marks:
            others = list(marks)
            others.remove(mark)
            irrelevant = not entails([mark], statement.text) and bool(others) and entails(others, statement.text)
            precise += not irrelevant
    known: dict[Pair, bool] = {}
    while pairs := needed_pairs(one, known):
        known.update({pair: _phi(table, pair) for pair in pairs})
    scores = score_citations(one, known)
    assert scores.recall == pytest.approx(recalled / len(one.statements) if one.statements else 0)
    assert scores.precision == pytest.approx(precise / counted if counted else 0)


@given(answers)
def test_a_judge_that_supports_nothing_leaves_nothing(one: Cited) -> None:
    scores = score(one, [])
    assert (scores.recall, scores.precision) == (0.0, 0.0)
    assert all(len(outcome.marks) == len(outcome.statement.marks) for outcome in scores.outcomes)


@given(st.text(alphabet="ab. ,[]12|\n", max_size=60))
def test_readings_point_into_their_text(text: str) -> None:
    for reading in (OURS, replace(ALCE, split=OURS.split)):
        for one in (*read_sentences(text, reading), *read_items("q", text, reading)):
            assert 0 <= one.span.start <= one.span.end <= len(text)
            assert tuple(reading.parse(one.span.of(text))) == one.marks
