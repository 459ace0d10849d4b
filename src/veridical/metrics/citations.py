"""Citation recall and precision by NLI, as ALCE (Gao et al., 2023) defines them.

For a sentence s with marks c_1 … c_m, of which the first 3 count, and a judge φ(premise, hypothesis) ∈ {0, 1}:

    recalled(s)  = 1 if s has marks, every mark names a passage, and φ(c_1 ⊕ … ⊕ c_m, s) = 1
    irrelevant_i = φ(c_i, s) = 0 and φ(the other marks, s) = 1
    precise_i    = recalled(s) and not irrelevant_i
    recall       = Σ recalled / sentences
    precision    = Σ precise / marks           (0 when there are none)

A sentence with a mark out of range is not recalled, and its marks leave the precision's denominator. φ is asked
in rounds: `needed_pairs` lists what is not known yet, and `score_citations` reads the answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from veridical.metrics.nli import Pair, decide
from veridical.metrics.statements import OURS, Reading, Statement, read_items, read_sentences
from veridical.ports import Judge
from veridical.types import Draft, Passage


class Sentence(StrEnum):
    """What became of a sentence."""

    RECALLED = "recalled"
    UNCITED = "uncited"  # no marks
    OUT_OF_RANGE = "out of range"  # a mark names no passage
    UNSUPPORTED = "unsupported"  # the cited passages together do not entail it


class Mark(StrEnum):
    """What became of a mark; the first three are in the precision's denominator."""

    PRECISE = "precise"
    IRRELEVANT = "irrelevant"  # alone it does not entail the sentence, and the others do without it
    UNSUPPORTED = "unsupported"  # the sentence is not recalled
    OUT_OF_RANGE = "out of range"  # names no passage
    EXCLUDED = "excluded"  # stands beside a mark out of range
    UNCOUNTED = "uncounted"  # comes after the marks that count


_COUNTED = (Mark.PRECISE, Mark.IRRELEVANT, Mark.UNSUPPORTED)


@dataclass(frozen=True, slots=True)
class Cited:
    """What is scored: statements whose mark n means passages[n-1], and how many marks of each count."""

    statements: tuple[Statement, ...]
    passages: tuple[Passage, ...]
    most_marks: int = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """One statement's part in the scores; `marks` has an entry for each mark, in order."""

    statement: Statement
    result: Sentence
    marks: tuple[tuple[int, Mark], ...]


@dataclass(frozen=True, slots=True)
class CitationScores:
    """The scores of one answer, and where they come from."""

    outcomes: tuple[Outcome, ...]

    @property
    def recall(self) -> float:
        """Recalled sentences / sentences; 0 for an empty answer."""
        recalled = sum(outcome.result is Sentence.RECALLED for outcome in self.outcomes)
        return recalled / len(self.outcomes) if self.outcomes else 0.0

    @property
    def precision(self) -> float:
        """Precise marks / counted marks; 0 without any."""
        counted = [mark for outcome in self.outcomes for _, mark in outcome.marks if mark in _COUNTED]
        return counted.count(Mark.PRECISE) / len(counted) if counted else 0.0


@dataclass(frozen=True, slots=True)
class CitationMeans:
    """Means over the examples that have a sentence; `empty` is how many had none and were left out."""

    recall: float
    precision: float
    examples: int
    empty: int


def cite_sentences(draft: Draft, reading: Reading = OURS) -> Cited:
    return Cited(read_sentences(draft.text, reading), draft.passages)


def cite_items(question: str, draft: Draft, reading: Reading = OURS) -> Cited:
    """For answers that are lists (QAMPARI): every item is judged as "question item"."""
    return Cited(read_items(question, draft.text, reading), draft.passages)


def join_passages(passages: Iterable[Passage]) -> str:
    """The premise: "Title: …" and text of each passage, a line each; a passage without a title is its text."""
    return "\n".join(f"Title: {one.title}\n{one.text}" if one.title else one.text for one in passages)


def needed_pairs(cited: Cited, known: Mapping[Pair, bool]) -> list[Pair]:
    """The pairs to ask next, each once; empty when `known` suffices, which is after at most three rounds.

    First whether the marks together carry a sentence; if they do and are several, whether each does alone; if
    one does not, whether the others do without it.
    """
    wanted = (pair for statement in cited.statements for pair in _pairs(statement, cited, known))
    return [pair for pair in dict.fromkeys(wanted) if pair not in known]


def score_citations(cited: Cited, known: Mapping[Pair, bool]) -> CitationScores:
    """The scores, given φ of all needed pairs. Raises KeyError when one is missing."""
    return CitationScores(tuple(_outcome(statement, cited, known) for statement in cited.statements))


async def citation_scores(
    judge: Judge, answers: Sequence[Cited], threshold: float | None = None
) -> list[CitationScores]:
    """The scores of each answer, by a judge that is asked three times at most, whatever their number.

    Raises what `nli.decide` raises.
    """
    known: dict[Pair, bool] = {}
    while pairs := [pair for cited in answers for pair in needed_pairs(cited, known)]:
        known |= await decide(judge, pairs, threshold)
    return [score_citations(cited, known) for cited in answers]


def average_citations(scores: Sequence[CitationScores]) -> CitationMeans:
    """Means over examples. An answer without a sentence counts for nothing, as in ALCE: read `empty` beside them."""
    scored = [one for one in scores if one.outcomes]
    count = len(scored)
    recall = sum(one.recall for one in scored) / count if count else 0.0
    precision = sum(one.precision for one in scored) / count if count else 0.0
    return CitationMeans(recall, precision, count, len(scores) - count)


# ── one statement ────────────────────────────────────────────────────────────────────────────────


def _flaw(statement: Statement, cited: Cited) -> Sentence | None:
    """Why the statement is 0 before any judge is asked."""
    if not statement.marks:
        return Sentence.UNCITED
    # Marks beyond those that count can still be out of range, as in the public script.
    return None if all(_in_range(mark, cited) for mark in statement.marks) else Sentence.OUT_OF_RANGE


def _in_range(mark: int, cited: Cited) -> bool:
    return 1 <= mark <= len(cited.passages)


def _pair(marks: Iterable[int], statement: Statement, cited: Cited) -> Pair:
    return join_passages(cited.passages[mark - 1] for mark in marks), statement.text


def _others(mark: int, marks: Sequence[int]) -> list[int]:
    rest = list(marks)
    rest.remove(mark)  # one of them, where a mark is repeated
    return rest


def _pairs(statement: Statement, cited: Cited, known: Mapping[Pair, bool]) -> Iterator[Pair]:
    if _flaw(statement, cited):
        return
    marks = statement.marks[: cited.most_marks]
    together = _pair(marks, statement, cited)
    yield together
    if not known.get(together) or len(marks) == 1:
        return
    for mark in marks:
        alone = _pair([mark], statement, cited)
        yield alone
        if known.get(alone) is False:
            yield _pair(_others(mark, marks), statement, cited)


def _outcome(statement: Statement, cited: Cited, known: Mapping[Pair, bool]) -> Outcome:
    flaw = _flaw(statement, cited)
    if flaw:
        bad = ((mark, Mark.EXCLUDED if _in_range(mark, cited) else Mark.OUT_OF_RANGE) for mark in statement.marks)
        return Outcome(statement, flaw, tuple(bad))
    marks = statement.marks[: cited.most_marks]
    uncounted = tuple((mark, Mark.UNCOUNTED) for mark in statement.marks[cited.most_marks :])
    if not known[_pair(marks, statement, cited)]:
        failed = tuple((mark, Mark.UNSUPPORTED) for mark in marks)
        return Outcome(statement, Sentence.UNSUPPORTED, failed + uncounted)
    judged = tuple((mark, _judge_mark(mark, statement, cited, known)) for mark in marks)
    return Outcome(statement, Sentence.RECALLED, judged + uncounted)


def _judge_mark(mark: int, statement: Statement, cited: Cited, known: Mapping[Pair, bool]) -> Mark:
    """Of a recalled statement."""
    marks = statement.marks[: cited.most_marks]
    if len(marks) == 1 or known[_pair([mark], statement, cited)]:
        return Mark.PRECISE
    return Mark.IRRELEVANT if known[_pair(_others(mark, marks), statement, cited)] else Mark.PRECISE
