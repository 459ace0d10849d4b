"""Rows for the judge from Wikipedia passages: their own sentences, shortened, joined, and broken on purpose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from veridical.training import edits
from veridical.training.answer_data import break_sentence
from veridical.training.judge_data import CONTRADICTED, ENTAILED, NEUTRAL, NOT_ENTAILED, UNKNOWN, Corpus, Row


def wiki_rows(corpus: Corpus, rng: Random, portion: float) -> Iterator[Row]:
    """For a portion of the passages: a claim it carries, one it does not, and the same against an edited passage."""
    neighbours: dict[str, list[str]] = {}
    for row in corpus.train:
        neighbours.setdefault(row["title"], []).append(row["text"])
    for row in corpus.train:
        if rng.random() >= portion:
            continue
        text = " ".join(row["text"].split())
        sentences = [sentence for sentence in edits.split(text) if 6 <= len(sentence.split()) <= 60]
        if not sentences:
            continue
        premise = f"{row['title']}. {text}" if rng.random() < 0.3 else text
        pool = edits.Pool(corpus.names, (), text)
        yield from _passage_rows(premise, rng.choice(sentences), row["title"], pool, rng)
        if len(sentences) > 2 and rng.random() < 0.5:
            yield from _other_rows(premise, sentences, row["title"], rng)
        yield from _open_rows(premise, sentences, row["title"], neighbours[row["title"]], rng)


def _passage_rows(premise: str, sentence: str, title: str, pool: edits.Pool, rng: Random) -> Iterator[Row]:
    seed = rng.random()
    claim = edits.simplify(sentence, title, Random(seed))  # noqa: S311 - not for secrets
    yield Row(premise, claim, ENTAILED, "wikipedia")
    broken = break_sentence(sentence, pool, rng)
    if not broken:
        return
    wrong = edits.simplify(broken, title, Random(seed))  # noqa: S311 - not for secrets
    if wrong != claim:
        yield Row(premise, wrong, NOT_ENTAILED, "wikipedia")
        if rng.random() < 0.5:  # so that the claim alone gives nothing away
            edited = premise.replace(sentence, broken, 1)
            yield Row(edited, wrong, ENTAILED, "wikipedia")
            yield Row(edited, claim, NOT_ENTAILED, "wikipedia")


def _other_rows(premise: str, sentences: Sequence[str], title: str, rng: Random) -> Iterator[Row]:
    one, other = rng.sample(list(sentences), 2)
    without = premise.replace(one, "", 1)
    claim = edits.simplify(one, title, rng)
    yield Row(without, claim, NEUTRAL, "wikipedia")
    bound = edits.compare(one, rng)
    if bound:
        yield Row(premise, bound[0], ENTAILED, "wikipedia")
        yield Row(premise, bound[1], CONTRADICTED, "wikipedia")
    joined = edits.simplify(other, title, rng).rstrip(".")
    if rng.random() < 0.5:
        yield Row(premise, f"{joined}, and {claim}", ENTAILED, "wikipedia")
        yield Row(without, f"{joined}, and {claim}", NOT_ENTAILED, "wikipedia")


def _open_rows(
    premise: str, sentences: Sequence[str], title: str, neighbours: Sequence[str], rng: Random
) -> Iterator[Row]:
    """Claims nobody has labelled: of the same article elsewhere, or two halves of sentences joined."""
    elsewhere = edits.split(rng.choice(neighbours))
    if len(neighbours) > 1 and elsewhere:
        yield Row(premise, edits.simplify(rng.choice(elsewhere), title, rng), UNKNOWN, "wikipedia")
    if len(sentences) > 1 and rng.random() < 0.5:
        one, other = (sentence.split() for sentence in rng.sample(list(sentences), 2))
        crossed = [*one[: len(one) // 2], *other[len(other) // 2 :]]
        yield Row(premise, " ".join(crossed), UNKNOWN, "wikipedia")
