"""Fits the score by which `quote` picks sentences: the probability that a sentence answers the question.

    python -m veridical.training.fit_quote --data FOLDER

FOLDER holds `qa_eval/squad2_dev_half.jsonl.gz` (SQuAD 2.0, CC BY-SA 4.0) and `qa_eval/nq_open_oracle.jsonl.gz`
(Natural Questions, CC BY-SA 3.0). It prints the constants of `veridical/models/quote/score.py`. Half of the SQuAD
articles, and every NQ question that `benchmarks/quote.py` asks, are left out.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
import string
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from veridical.models.embed import MiniLm
from veridical.models.quote.features import Candidate, find_candidates, stems
from veridical.models.quote.score import shortlist
from veridical.types import Passage, Span

Floats: TypeAlias = NDArray[np.float64]


class Asked(NamedTuple):
    """A question, what a search found for it, and the right answers (none: it cannot be answered from this)."""

    question: str
    passages: tuple[Passage, ...]
    answers: tuple[str, ...]


class Scored(NamedTuple):
    """One question's shortlisted sentences: a row of inputs each, and whether the sentence holds an answer."""

    inputs: Floats
    right: NDArray[np.bool_]


# ── questions ────────────────────────────────────────────────────────────────────────────────────


def read_rows(data: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(data / "qa_eval" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def is_training_title(title: str) -> bool:
    """Articles are split by title, so that no paragraph is both fitted and measured."""
    return hashlib.sha256(title.replace("_", " ").encode()).digest()[0] % 2 == 0


def make_passages(texts: Iterable[tuple[str, str]]) -> tuple[Passage, ...]:
    return tuple(
        Passage(str(i), str(i), text, Span(0, len(text)), title=title.replace("_", " "))
        for i, (title, text) in enumerate(texts)
    )


def squad2(data: Path, *, training: bool, passages: int = 5) -> Iterator[Asked]:
    """Each question with its paragraph and the nearest other paragraphs of the article, by shared words."""
    rows = [row for row in read_rows(data, "squad2_dev_half") if is_training_title(row["title"]) == training]
    paragraphs: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        paragraphs[row["title"]][row["context"]] = None
    pools = {title: Nearest(list(texts)) for title, texts in paragraphs.items()}
    for row in rows:
        near = pools[row["title"]].find(row["question"], passages, always=row["context"])
        yield Asked(row["question"], make_passages((row["title"], text) for text in near), tuple(row["answers"]))


def nq_oracle(data: Path, passages: int = 5) -> Iterator[Asked]:
    """Each question with its gold passage among the nearest gold passages of other questions."""
    measured = {row["question"] for name in ("qed_nq_dev", "nq_retrieved") for row in read_rows(data, name)}
    rows = [row for row in read_rows(data, "nq_open_oracle") if row["question"] not in measured]
    titles = {row["gold"]["text"]: row["gold"]["title"] for row in rows}
    pool = Nearest(list(titles))
    for row in rows:
        near = pool.find(row["question"], passages, always=row["gold"]["text"])
        yield Asked(row["question"], make_passages((titles[text], text) for text in near), tuple(row["answers"]))


class Nearest:
    """The texts that share most words with a question, rare words weighing more: a small stand-in for search."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self.holders: dict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(self.texts):
            for stem in set(stems(text)):
                self.holders[stem].append(number)

    def find(self, question: str, k: int, always: str) -> list[str]:
        scores: dict[int, float] = defaultdict(float)
        for stem in set(stems(question)):
            for number in self.holders[stem]:
                scores[number] += float(np.log(1 + len(self.texts) / len(self.holders[stem])))
        best = sorted(scores, key=lambda number: -scores[number])[:k]
        found = [self.texts[number] for number in best]
        return found if always in found else [*found[: k - 1], always]


# ── inputs ───────────────────────────────────────────────────────────────────────────────────────


def normalise(text: str) -> str:
    """Lower case, without punctuation and articles, as SQuAD's own scorer does."""
    bare = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(?:a|an|the)\b", " ", bare).split())


def holds_answer(text: str, answers: Sequence[str]) -> bool:
    padded = f" {normalise(text)} "
    return any(f" {normalise(answer)} " in padded for answer in answers if normalise(answer))


def score_inputs(asked: Asked, embedder: MiniLm) -> tuple[list[Candidate], Scored]:
    chosen = shortlist(find_candidates(asked.question, asked.passages))
    vectors = embedder.embed_now([asked.question, *(candidate.in_context for candidate in chosen)])
    cosines = vectors[1:] @ vectors[0]
    inputs = [candidate.numbers(float(cosine)) for candidate, cosine in zip(chosen, cosines, strict=True)]
    right = np.array([holds_answer(candidate.text, asked.answers) for candidate in chosen], np.bool_)
    return chosen, Scored(np.array(inputs, np.float64), right)


# ── fitting ──────────────────────────────────────────────────────────────────────────────────────


def fit_ranking(rows: Sequence[Scored], ridge: float = 1.0, rounds: int = 400, rate: float = 0.05) -> Floats:
    """Weights under which a softmax over a question's sentences puts most mass on those that hold an answer (Adam)."""
    useful = [row for row in rows if row.right.any() and not row.right.all()]
    weights = np.zeros(useful[0].inputs.shape[1])
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, rounds + 1):
        gradient = ridge * weights / len(useful)
        for row in useful:
            scores = row.inputs @ weights
            mass = np.exp(scores - scores.max())
            mass /= mass.sum()
            wanted = mass * row.right / (mass @ row.right)
            gradient += row.inputs.T @ (mass - wanted) / len(useful)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        weights -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights


def calibrate(rows: Sequence[Scored], ranking: Floats, rounds: int = 25) -> Floats:
    """The ranking's weights stretched and shifted until a sentence's score is its log odds (logistic, Newton)."""
    x = np.concatenate([np.stack([np.ones(len(row.right)), row.inputs @ ranking], axis=1) for row in rows])
    y = np.concatenate([row.right for row in rows]).astype(np.float64)
    fit = np.zeros(2)
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-x @ fit))
        fit -= np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + 1e-6 * np.eye(2), x.T @ (p - y))
    weights: Floats = fit[1] * ranking
    weights[0] += fit[0]  # the first input is the constant one
    return weights


def sample(asked: Iterable[Asked], size: int, seed: int = 7) -> list[Asked]:
    pool = list(asked)
    return random.Random(seed).sample(pool, min(size, len(pool)))  # noqa: S311 - no secret is drawn


def off_topic(asked: Sequence[Asked]) -> list[Asked]:
    """The same questions, each with the passages of another that has none of its answers in them."""
    half = len(asked) // 2
    pairs = zip(asked, [*asked[half:], *asked[:half]], strict=True)
    return [Asked(one.question, far.passages, ()) for one, far in pairs]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="veridical.training.fit_quote", description="Fits the sentence score.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=400, help="how many of each set")
    options = parser.parse_args(arguments)
    answerable = [one for one in squad2(options.data, training=True) if one.answers]
    asked = sample(answerable, options.questions) + sample(nq_oracle(options.data), options.questions)
    embedder = MiniLm()
    rows = [score_inputs(one, embedder)[1] for one in asked]
    strangers = [score_inputs(one, embedder)[1] for one in sample(off_topic(asked), options.questions // 2)]
    weights = calibrate([*rows, *strangers], fit_ranking(rows))
    found = {
        "questions": len(rows),
        "sentences": sum(len(row.right) for row in rows),
        "weights": [round(float(weight), 3) for weight in weights],
    }
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
