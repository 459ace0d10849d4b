"""Rows for the judge from questions, answers and explanations: what an answer claims, and what it gets wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from veridical.training import edits
from veridical.training.judge_data import (
    CONTRADICTED,
    ENTAILED,
    NOT_ENTAILED,
    UNKNOWN,
    Corpus,
    Row,
    focus,
    lengthen,
    read,
    share,
)


def fact_rows(data: Path, rng: Random) -> Iterator[Row]:
    """FActScore: short facts of biographies that models wrote, against the person's article."""
    for row in read(data / "verifier" / "eval" / "bio_factscore_atomic"):
        for fact in row["facts"]:
            label = ENTAILED if fact["supported"] else NOT_ENTAILED
            yield Row(focus(row["premise"], fact["fact"], rng), fact["fact"], label, "factscore")


def conflict_rows(data: Path) -> Iterator[Row]:
    """Two answers to one question, each with an explanation: each explanation denies the other answer."""
    for row in read(data / "qa_eval" / "conflictqa_strategyqa"):
        sides = [(row["memory_answer"], row["parametric_memory"]), (row["counter_answer"], row["counter_memory"])]
        for number, (answer, why) in enumerate(sides):
            other = sides[1 - number][0]
            if answer and why and other:
                yield Row(why, answer, ENTAILED, "conflictqa")
                yield Row(why, other, NOT_ENTAILED, "conflictqa")


def grounded_rows(data: Path, pool: edits.Pool, rng: Random) -> Iterator[Row]:
    """Answers written by people from passages, and the same with one thing changed."""
    for row in read(data / "qa_eval" / "clapnq_dev"):
        if row["answerable"]:
            passage = row["passages"][0]["text"]
            yield from _with_changed(passage, edits.split(row["output"][0]["answer"]), "clapnq", pool, rng)
    for row in read(data / "qa_eval" / "pubmedqa_1000"):
        yield from _with_changed(" ".join(row["contexts"]), edits.split(row["long_answer"]), "pubmedqa", pool, rng)
    for row in read(data / "qa_eval" / "mtrag_unanswerable"):
        if row["answerability"] == ["ANSWERABLE"]:
            passage = " ".join(context["text"] for context in row["contexts"])
            yield from _with_changed(passage, edits.split(row["target"][0]), "mtrag", pool, rng, sure=False)
    for row in read(data / "qa_eval" / "alce_asqa"):
        passage = " ".join(known["content"] for known in row["knowledge"] if known["content"])
        for answer in row["long_answers"]:
            yield from _with_changed(passage, edits.split(answer), "asqa", pool, rng, sure=False)


def _with_changed(
    passage: str, sentences: Iterable[str], source: str, pool: edits.Pool, rng: Random, *, sure: bool = True
) -> Iterator[Row]:
    """`sure`: the passage carries every sentence; without it a sentence as it stands is left to the teacher."""
    here = edits.Pool(pool.names, pool.numbers, passage)
    for sentence in sentences:
        if len(sentence.split()) < 4 or not passage:
            continue
        yield Row(focus(passage, sentence, rng), sentence, ENTAILED if sure else UNKNOWN, source)
        changed = break_sentence(sentence, here, rng)
        if changed:
            yield Row(focus(passage, sentence, rng), changed, NOT_ENTAILED, source)


def break_sentence(sentence: str, pool: edits.Pool, rng: Random) -> str | None:
    for edit in rng.sample(edits.BREAKS, 4):
        changed = edit(sentence, pool, rng)
        if changed and changed != sentence:
            return changed
    return None


# ── questions and answers as claims ──────────────────────────────────────────────────────────────


def qa_rows(data: Path, corpus: Corpus, rng: Random) -> Iterator[Row]:
    """SQuAD, QED and NQ: the right answer, other candidates of the passage, and questions without an answer in it."""
    asked = [
        (row["context"], row["question"], row["answers"][:1], "squad")
        for name in ("squad2_dev_half", "squad_dev_sample")
        for row in read(data / "qa_eval" / name)
        if share(row["title"]) >= 0.2  # the rest stays unseen, to measure abstention with
    ]
    asked += [
        (row["passage"], row["question"], row["answers"][:1], "qed") for row in read(data / "qa_eval" / "qed_nq_dev")
    ]
    asked += [
        (f"{row['gold']['title']}. {row['gold']['text']}", row["question"], row["answers"][:1], "nq")
        for row in read(data / "qa_eval" / "nq_open_oracle")
    ]
    by_context: dict[str, list[str]] = {}
    for context, _, answers, _ in asked:
        by_context.setdefault(context, []).extend(answers)
    for context, question, answers, source in asked:
        right = answers[0] if answers else ""
        premise = lengthen(context, corpus.train, rng) if len(context.split()) < 80 and rng.random() < 0.3 else context
        if right and right.lower() in context.lower():
            for claim in rng.sample(claims_of(question, right), 2):
                yield Row(premise, claim, ENTAILED, source)
        for wrong in _wrong_answers(context, right, by_context[context], rng):
            yield Row(premise, rng.choice(claims_of(question, wrong)), NOT_ENTAILED, source)


def multihop_rows(data: Path, rng: Random) -> Iterator[Row]:
    """Questions whose answer needs two passages: with both it follows, without one of them it does not."""
    for source, name in (("hotpot", "hotpotqa_distractor"), ("2wiki", "2wikimultihop"), ("musique", "musique_ctx")):
        for row in read(data / "qa_eval" / name):
            needed, others = _paragraphs(row)
            if len(needed) < 2 or not row["answers"]:
                continue
            right = row["answers"][0]
            claims = claims_of(row["question"], right)
            noise = rng.sample(others, min(len(others), rng.randint(0, 2)))
            whole = rng.sample([*needed, *noise], len(needed) + len(noise))
            yield Row(" ".join(whole), rng.choice(claims), ENTAILED, source)
            if right.lower() not in {"yes", "no"}:
                for wrong in _wrong_answers(" ".join(whole), right, [], rng):
                    yield Row(" ".join(whole), rng.choice(claims_of(row["question"], wrong)), NOT_ENTAILED, source)
                without = [text for text in whole if right.lower() not in text.lower()]
                if without and len(without) < len(whole):
                    yield Row(" ".join(without), rng.choice(claims), NOT_ENTAILED, source)


def _paragraphs(row: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The texts that hold the supporting facts (their sentences alone when long), and the others."""
    if "decomposition" in row:
        wanted = {step.get("paragraph_support_idx") for step in row["decomposition"]}
        texts = [f"{p['title']}. {p['text']}" for p in row["context"]]
        return [t for n, t in enumerate(texts) if n in wanted], [t for n, t in enumerate(texts) if n not in wanted]
    titles = {title for title, _ in row["supporting_facts"]}
    needed: list[str] = []
    others: list[str] = []
    for paragraph in row["context"]:
        text = " ".join(sentence.strip() for sentence in paragraph["sentences"][:6])
        (needed if paragraph["title"] in titles else others).append(f"{paragraph['title']}. {text}")
    return needed, others


def claims_of(question: str, answer: str) -> list[str]:
    """The answer as a claim, in several forms; at least two."""
    question = question.strip().rstrip("?").strip()
    capital = f"{answer[0].upper()}{answer[1:]}"
    forms = [f"{question}? {answer}", f"{question}? {capital}."]
    subject = re.match(
        r"(?:who|what|which [a-z]+) ((?!did|do|does|is|are|was|were|has|have|will|can)\w+ .+)", question, re.I
    )
    copula = re.match(r"(?:who|what) (is|was|are|were) (.+)", question, re.I)
    inverted = re.match(
        r"(when|where) (was|were|is|are) (.+) (\w+(?:ed|en|born|held|found|made|set|built))$", question, re.I
    )
    if subject:
        forms += [f"{capital} {subject.group(1)}."] * 2
    elif inverted:
        at = "in " if not re.match(r"(?i)(in|on|at|by|during|after|before)\b", answer) else ""
        forms += [f"{inverted.group(3)} {inverted.group(2)} {inverted.group(4)} {at}{answer}."] * 2
    elif copula:
        thing, verb = copula.group(2), copula.group(1)
        forms += [f"{thing[0].upper()}{thing[1:]} {verb} {answer}.", f"{capital} {verb} {thing}."]
    else:
        forms.append(f'The answer to "{question}" is {answer}.')
    return forms


def _wrong_answers(context: str, right: str, others: Sequence[str], rng: Random) -> list[str]:
    numeric = bool(re.search(r"\d", right))
    found = edits.NUMBER.findall(context) if numeric else edits.names_in(context)
    alike = [other for other in others if bool(re.search(r"\d", other)) == numeric]
    options = [
        text for text in {*found, *alike} if text.lower() not in right.lower() and right.lower() not in text.lower()
    ]
    if not right:
        options = [*others, *found]
    return rng.sample(sorted(options), min(2, len(options)))


def boolq_rows(data: Path) -> Iterator[Row]:
    for row in read(data / "qa_eval" / "boolq_train"):
        question, yes = row["question"].strip().rstrip("?"), bool(row["answer"])
        said = share(row["question"]) < 0.5
        label = ENTAILED if said == yes else CONTRADICTED
        yield Row(row["passage"], f"{question}? {'Yes' if said else 'No'}.", label, "boolq")
