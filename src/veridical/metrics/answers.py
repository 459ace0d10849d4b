"""Short answers: is the gold string said, is it all that is said, how much of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from veridical.metrics.nli import share
from veridical.metrics.normalise import drop_marks, normalise_answer, normalise_case


def answer_accuracy(answer: str, golds: Iterable[str]) -> float:
    """1 if a gold string is contained in the answer after lower-casing and removing punctuation, else 0 (CoV-RAG).

    Marks are stripped first, or the 1 of `[1]` would be an answer. A gold string of punctuation alone never counts.
    """
    said = normalise_case(drop_marks(answer))
    return float(any(gold in said for gold in map(normalise_case, golds) if gold))


def exact_match(answer: str, golds: Iterable[str]) -> float:
    """1 if the normalised answer equals a normalised gold string, else 0 (SQuAD)."""
    said = normalise_answer(drop_marks(answer))
    return float(any(said == normalise_answer(gold) for gold in golds))


def token_f1(answer: str, golds: Iterable[str]) -> float:
    """max over golds of 2PR / (P + R), P and R the shares of common tokens in answer and gold (SQuAD).

    Tokens are counted with repeats. Where one side has none, 1 if the other has none either, else 0.
    """
    said = normalise_answer(drop_marks(answer)).split()
    return max((_f1(said, normalise_answer(gold).split()) for gold in golds), default=0.0)


def em_recall(answer: str, short_answers: Sequence[Iterable[str]]) -> float:
    """The share of questions (ASQA's qa_pairs) with any short answer in the normalised answer; 0 without questions.

    As in ALCE, a short answer of nothing but articles and punctuation is the empty string, which any answer holds.
    """
    said = normalise_answer(drop_marks(answer))
    return share(any(normalise_answer(gold) in said for gold in golds) for golds in short_answers)


def em_hit(answer: str, short_answers: Sequence[Iterable[str]]) -> float:
    """1 if every question is answered (EM recall is 1), else 0: ALCE's STR-EM-HIT."""
    return float(em_recall(answer, short_answers) == 1.0)


def _f1(said: Sequence[str], gold: Sequence[str]) -> float:
    if not said or not gold:
        return float(said == gold)
    common = sum((Counter(said) & Counter(gold)).values())
    if not common:
        return 0.0
    precision, recall = common / len(said), common / len(gold)
    return 2 * precision * recall / (precision + recall)
