"""Questions and passages the relevance scorer learns from: does the passage hold the answer?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import log
from pathlib import Path
from random import Random
from typing import Any

from veridical.training import edits
from veridical.training.judge_data import IRRELEVANT, RELEVANT, SOURCES, Corpus, Row, plain, read, share

_COMMON = 300  # a word in more passages than this says little about any of them


def relevance_rows(data: Path, corpus: Corpus, rng: Random) -> Iterator[Row]:
    yield from _answer_sentence_rows(data)
    yield from _reading_rows(data, rng)
    yield from _paragraph_rows(data, rng)
    yield from _retrieved_rows(data)
    yield from _science_rows(data, rng)
    yield from _sentence_rows(corpus, rng)
    yield from popqa_pairs(data, held_out=False)


def _label(relevant: bool) -> int:
    return RELEVANT if relevant else IRRELEVANT


def _answer_sentence_rows(data: Path) -> Iterator[Row]:
    rerank = data / "retrieval" / "rerank"
    for row in read(rerank / "answerability_train"):
        if row["source"] in SOURCES:  # not MultiRC
            yield Row(row["question"], row["passage"], IRRELEVANT + row["label"], row["source"])
    for source, name in (("selqa", "selqa_dev"), ("qnli", "qnli_dev")):
        for row in read(rerank / name):
            if row["label"] or share(row["question"] + row["passage"]) < 0.5:
                yield Row(row["question"], row["passage"], IRRELEVANT + row["label"], source)


def _reading_rows(data: Path, rng: Random) -> Iterator[Row]:
    """SQuAD 2: the passage answers, does not although it looks so, or is another one of the same article."""
    rows = [row for row in read(data / "qa_eval" / "squad2_dev_half") if share(row["title"]) >= 0.2]
    by_title: dict[str, set[str]] = {}
    for row in rows:
        by_title.setdefault(row["title"], set()).add(row["context"])
    for row in rows:
        yield Row(row["question"], row["context"], _label(row["answerable"]), "squad")
        others = sorted(by_title[row["title"]] - {row["context"]})
        if row["answerable"] and others:
            yield Row(row["question"], rng.choice(others), IRRELEVANT, "squad")


def _paragraph_rows(data: Path, rng: Random) -> Iterator[Row]:
    """Multi-hop sets: a paragraph with a supporting fact is relevant, the distractors are not."""
    tested = {row["text"] for row in read(data / "retrieval" / "hotpot_pooled" / "queries_test")}
    for source, name in (("2wiki", "2wikimultihop"), ("hotpot", "hotpotqa_distractor")):
        for row in read(data / "qa_eval" / name):
            wanted = {title for title, _ in row["supporting_facts"]}
            if row["question"] in tested:
                continue
            for paragraph in row["context"]:
                if paragraph["title"] in wanted or rng.random() < 0.6:
                    text = f"{paragraph['title']}. {' '.join(paragraph['sentences'])}"
                    yield Row(row["question"], text, _label(paragraph["title"] in wanted), source)
    for row in read(data / "qa_eval" / "musique_ctx"):
        supporting = {step.get("paragraph_support_idx") for step in row["decomposition"]}
        for number, paragraph in enumerate(row["context"]):
            if number in supporting or rng.random() < 0.6:
                text = f"{paragraph['title']}. {paragraph['text']}"
                yield Row(row["question"], text, _label(number in supporting), "musique")


def _retrieved_rows(data: Path) -> Iterator[Row]:
    """Passages that a retriever found: those without the answer's words are irrelevant, the others are opinions."""
    for source, name in (("triviaqa", "triviaqa_retrieved"), ("nq", "nq_retrieved")):
        for row in read(data / "qa_eval" / name):
            for passage in row["ctxs"]:
                text = f"{passage['title']}. {passage['text']}"
                yield Row(row["question"], text, _label(holds(text, row["answers"])), source)
    for row in read(data / "qa_eval" / "nq_open_oracle"):
        yield Row(row["question"], f"{row['gold']['title']}. {row['gold']['text']}", RELEVANT, "nq")


def _science_rows(data: Path, rng: Random) -> Iterator[Row]:
    """Questions and abstracts of medicine; for each also the two other abstracts that resemble the question most."""
    asked = [
        (row["question"], " ".join(row["contexts"]), "pubmedqa") for row in read(data / "qa_eval" / "pubmedqa_1000")
    ]
    asked += [
        (row["question"], " ".join(row["context"].split()[:200]), "bioasq")
        for row in read(data / "qa_eval" / "sciriff_yesno")
        if row["id"].startswith("bioasq")
    ]
    alike = Alike([context for _, context, _ in asked])
    for number, (question, context, source) in enumerate(asked):
        yield Row(question, context, RELEVANT, source)
        for other in alike.to(question, 3):
            if other != number and asked[other][0] != question:
                yield Row(question, asked[other][1], IRRELEVANT, source)
        yield Row(question, rng.choice(asked)[1], IRRELEVANT, source)


def _sentence_rows(corpus: Corpus, rng: Random) -> Iterator[Row]:
    """A sentence as the query: its passage (half the time without it) against the passages that resemble it most."""
    texts = [f"{row['title']}. {' '.join(row['text'].split())}" for row in corpus.train]
    alike = Alike(texts)
    for number in rng.sample(range(len(texts)), min(len(texts), 7_000)):
        sentences = [s for s in edits.split(texts[number]) if 6 <= len(s.split()) <= 40]
        if len(sentences) < 3:
            continue
        sentence = rng.choice(sentences[1:])
        query = edits.simplify(sentence, corpus.train[number]["title"], rng)
        text = texts[number].replace(sentence, "", 1) if rng.random() < 0.5 else texts[number]
        yield Row(query, text, RELEVANT, "wikipedia")
        near = [other for other in alike.to(query, 4) if corpus.train[other]["title"] != corpus.train[number]["title"]]
        yield from (Row(query, texts[other], IRRELEVANT, "wikipedia") for other in near[:2])


class Alike:
    """Which texts share the rarest words with a query."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.places: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            for word in set(plain(text).split()):
                self.places.setdefault(word, []).append(number)
        self.count = len(texts)

    def to(self, query: str, most: int) -> list[int]:
        found: dict[int, float] = {}
        for word in set(plain(query).split()):
            places = self.places.get(word, ())
            if len(places) <= _COMMON:
                for number in places:
                    found[number] = found.get(number, 0.0) + log(self.count / len(places))
        return sorted(found, key=lambda number: (-found[number], number))[:most]


# ── PopQA ────────────────────────────────────────────────────────────────────────────────────────


def popqa_pairs(data: Path, *, held_out: bool) -> Iterator[Row]:
    """Questions about one subject and passages retrieved for them; relevant: it names the subject and an answer.

    Half of the subjects is held out, and every question of the long-tail test set too.
    """
    for question, subject, answers, title, text in popqa_passages(data, held_out=held_out):
        whole = f"{title}. {text}" if title else text
        yield Row(question, whole, _label(holds(text, answers) and names(whole, subject)), "popqa")


def popqa_passages(data: Path, *, held_out: bool) -> Iterator[tuple[str, str, Sequence[str], str, str]]:
    """(question, subject, answers, title, text) of every passage retrieved for, or given with, a PopQA question."""
    tail = {row["question"] for row in read(data / "qa_eval" / "crag_popqa_longtail")}
    for row in read(data / "qa_eval" / "popqa_retrieved"):
        subject = row["metadata"]["subj"]
        if (share(subject) < 0.5 or row["question"] in tail) == held_out:
            for passage in row["ctxs"]:
                yield row["question"], subject, row["answers"], passage["title"], passage["text"]
    for row in read(data / "qa_eval" / "popqa_paragraphs"):
        subject = popqa_subject(row["question"])
        if (share(subject) < 0.5 or row["question"] in tail) == held_out:
            for found in _popqa_texts(row):
                yield row["question"], subject, row["answers"], *found


def _popqa_texts(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    seen = set()
    for paragraph in row["paragraphs"]:
        seen.add(plain(paragraph["text"])[:80])
        yield paragraph["title"], paragraph["text"]
    for text in row["retrieved"]:
        title, _, body = text.partition("\n")
        if plain(body or text)[:80] not in seen:
            yield (title, body) if body else ("", text)


def popqa_subject(question: str) -> str:
    """The subject of one of PopQA's sixteen question forms."""
    patterns = (
        r"What is (.+?)(?:'s|’s) occupation\?", r"In what city was (.+) born\?", r"What genre is (.+)\?",
        r"Who is the father of (.+)\?", r"In what country is (.+)\?", r"Who was the producer of (.+)\?",
        r"Who was the director of (.+)\?", r"What is (.+) the capital of\?", r"Who was the screenwriter for (.+)\?",
        r"Who was the composer of (.+)\?", r"What color is (.+)\?", r"What is the religion of (.+)\?",
        r"What sport does (.+) play\?", r"Who is the author of (.+)\?", r"Who is the mother of (.+)\?",
        r"What is the capital of (.+)\?",
    )  # fmt: skip
    for pattern in patterns:
        found = re.fullmatch(pattern, question.strip())
        if found:
            return found.group(1)
    return question


def names(text: str, subject: str) -> bool:
    """Whether the text names the subject, or for a person at least the last of its words."""
    words = plain(subject).split()
    here = f" {plain(text)} "
    return bool(words) and (f" {' '.join(words)} " in here or f" {words[-1]} " in here)


def holds(text: str, answers: Sequence[str]) -> bool:
    words = f" {plain(text)} "
    return any(f" {plain(answer)} " in words for answer in answers if plain(answer))
