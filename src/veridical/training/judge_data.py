"""The rows the judge and the relevance scorer learn from, made from public sets whose licences allow it.

`SOURCES` is the whole list: a set that is not in it is not trained on. Rows are (first text, second text, label,
source): (premise, claim, 0..3) for the judge, (question, passage, 4 or 5) for relevance.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from veridical.training import edits

ENTAILED, NEUTRAL, CONTRADICTED, NOT_ENTAILED, IRRELEVANT, RELEVANT = range(6)
LABELS = {"entailment": ENTAILED, "neutral": NEUTRAL, "contradiction": CONTRADICTED, "not_entailment": NOT_ENTAILED}

# source: (licence, how often each row is used, at most so many rows). Left out on purpose: sick, scifact, control
# (non-commercial); lingnli, climate_fever, covid_fact, healthver, rte, begin_cmu (no licence found); dnc (mixed).
SOURCES: dict[str, tuple[str, int, int]] = {
    "snli": ("CC BY-SA 4.0", 1, 60_000),
    "mnli": ("OANC and others, free use (MultiNLI)", 1, 99_999),
    "conjnli_auto": ("MIT", 1, 99_999),
    "scitail": ("Apache-2.0", 1, 99_999),
    "fever": ("CC BY-SA 3.0", 2, 99_999),
    "cad_nli": ("Apache-2.0", 1, 99_999),
    "fool_me_twice": ("Apache-2.0", 4, 99_999),
    "fever_symmetric": ("MIT", 4, 99_999),
    "cb": ("CC BY-SA 3.0", 1, 99_999),
    "expertqa": ("MIT", 2, 99_999),
    "wice": ("ODC-BY (annotations), CC BY-SA (Wikipedia), Common Crawl terms", 3, 99_999),
    "wice_oracle_chunk": ("as wice", 3, 99_999),
    "wice_partial": ("as wice", 3, 99_999),
    "begin_wow": ("CC BY 4.0", 4, 99_999),
    "begin_tc": ("CDLA-Sharing-1.0 (results are free)", 3, 99_999),
    "attributionbench_AttributedQA": ("Apache-2.0 (dataset card)", 3, 99_999),
    "attributionbench_ExpertQA": ("Apache-2.0 (dataset card)", 3, 99_999),
    "attributionbench_Stanford-GenSearch": ("Apache-2.0 (dataset card)", 3, 99_999),
    "paws": ("PAWS licence: free use with attribution", 1, 99_999),
    "boolq": ("CC BY-SA 3.0", 1, 99_999),
    "squad": ("CC BY-SA 4.0", 1, 99_999),
    "qed": ("CC BY-SA 3.0", 1, 99_999),
    "conflictqa": ("Apache-2.0", 1, 99_999),
    "clapnq": ("Apache-2.0", 1, 99_999),
    "pubmedqa": ("MIT", 1, 99_999),
    "wikipedia": ("CC BY-SA 3.0 / 4.0", 1, 999_999),
    "adversarial_qa": ("CC BY-SA 4.0", 1, 99_999),
    "selqa": ("Apache-2.0", 1, 99_999),
    "qnli": ("CC BY-SA 4.0", 1, 99_999),
    "triviaqa": ("Apache-2.0", 1, 99_999),
    "2wiki": ("Apache-2.0", 1, 99_999),
    "musique": ("CC BY 4.0", 1, 99_999),
    "popqa": ("MIT", 1, 99_999),
}


class Row(NamedTuple):
    first: str
    second: str
    label: int
    source: str


@dataclass
class Corpus:
    """The Wikipedia paragraphs, in a part to train on and one held out for tests and for lengthening the dev set."""

    train: list[dict[str, str]]
    held_out: list[dict[str, str]]
    names: list[str]


def read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path.with_name(f"{path.name}.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def share(key: str) -> float:
    """A number in 0..1 that depends on the text alone: splits stay the same whatever else changes."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=4).digest(), "big") / 2**32


def read_corpus(data: Path) -> Corpus:
    paragraphs = [row for row in read(data / "corpus" / "wiki_paragraphs") if len(row["text"].split()) >= 12]
    train = [row for row in paragraphs if share(row["title"]) >= 0.1]
    names = sorted({name for row in train[::5] for name in edits.names_in(row["text"])})
    return Corpus(train, [row for row in paragraphs if share(row["title"]) < 0.1], names)


# ── premises ─────────────────────────────────────────────────────────────────────────────────────


def lengthen(premise: str, others: Sequence[dict[str, str]], rng: Random) -> str:
    """The premise placed among sentences of one to three other passages."""
    parts = []
    for _ in range(rng.randint(1, 3)):
        sentences = edits.split(others[rng.randrange(len(others))]["text"])
        start = rng.randrange(len(sentences))
        parts.append(" ".join(sentences[start : start + rng.randint(1, 4)]))
    parts.insert(rng.randint(0, len(parts)), premise)
    return " ".join(parts)


# ── published pairs ──────────────────────────────────────────────────────────────────────────────


def nli_rows(data: Path, corpus: Corpus, rng: Random) -> Iterator[Row]:
    rows = read(data / "verifier" / "nli_train")
    rng.shuffle(rows)
    used: dict[str, int] = {}
    for row in rows:
        source = row["source"]
        if source not in SOURCES or used.get(source, 0) >= SOURCES[source][2]:
            continue
        used[source] = used.get(source, 0) + 1
        for _ in range(SOURCES[source][1]):
            short = len(row["premise"].split()) < 80
            premise = lengthen(row["premise"], corpus.train, rng) if short and rng.random() < 0.4 else row["premise"]
            yield Row(premise, row["hypothesis"], LABELS[row["label"]], source)


def paws_rows(data: Path, corpus: Corpus, rng: Random) -> Iterator[Row]:
    for row in read(data / "verifier" / "paws_wiki"):
        label = ENTAILED if row["label"] == "paraphrase" else NOT_ENTAILED
        premise = lengthen(row["premise"], corpus.train, rng) if rng.random() < 0.4 else row["premise"]
        yield Row(premise, row["hypothesis"], label, "paws")


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
    """Answers written by people from a passage, and the same with one thing changed."""
    for row in read(data / "qa_eval" / "clapnq_dev"):
        if row["answerable"]:
            passage = row["passages"][0]["text"]
            yield from _with_changed(passage, edits.split(row["output"][0]["answer"]), "clapnq", pool, rng)
    for row in read(data / "qa_eval" / "pubmedqa_1000"):
        yield from _with_changed(" ".join(row["contexts"]), edits.split(row["long_answer"]), "pubmedqa", pool, rng)


def _with_changed(passage: str, sentences: Iterable[str], source: str, pool: edits.Pool, rng: Random) -> Iterator[Row]:
    here = edits.Pool(pool.names, pool.numbers, passage)
    for sentence in sentences:
        yield Row(passage, sentence, ENTAILED, source)
        changed = _break(sentence, here, rng)
        if changed:
            yield Row(passage, changed, NOT_ENTAILED, source)


# ── questions and answers as claims ──────────────────────────────────────────────────────────────


def qa_rows(data: Path, rng: Random) -> Iterator[Row]:
    """SQuAD and QED: the right answer, other candidates of the passage, and questions without an answer in it."""
    asked = [
        (row["context"], row["question"], row["answers"][:1], "squad")
        for name in ("squad2_dev_half", "squad_dev_sample")
        for row in read(data / "qa_eval" / name)
        if share(row["title"]) >= 0.2  # the rest stays unseen, to measure abstention with
    ]
    asked += [
        (row["passage"], row["question"], row["answers"][:1], "qed") for row in read(data / "qa_eval" / "qed_nq_dev")
    ]
    by_context: dict[str, list[str]] = {}
    for context, _, answers, _ in asked:
        by_context.setdefault(context, []).extend(answers)
    for context, question, answers, source in asked:
        right = answers[0] if answers else ""
        if right:
            for claim in rng.sample(_claims(question, right), 2):
                yield Row(context, claim, ENTAILED, source)
        for wrong in _wrong_answers(context, right, by_context[context], rng):
            yield Row(context, rng.choice(_claims(question, wrong)), NOT_ENTAILED, source)


def _claims(question: str, answer: str) -> list[str]:
    question = question.strip().rstrip("?").strip()
    forms = [f"{question}? {answer}", f"{question}? {answer[0].upper()}{answer[1:]}."]
    subject = re.match(
        r"(?:who|what|which [a-z]+) ((?!did|do|does|is|are|was|were|has|have|will|can)\w+ .+)", question, re.I
    )
    copula = re.match(r"(?:who|what) (is|was|are|were) (.+)", question, re.I)
    inverted = re.match(
        r"(when|where) (was|were|is|are) (.+) (\w+(?:ed|en|born|held|found|made|set|built))$", question, re.I
    )
    if subject:
        forms += [f"{answer[0].upper()}{answer[1:]} {subject.group(1)}."] * 2
    elif inverted:
        at = "in " if not re.match(r"(?i)(in|on|at|by|during|after|before)\b", answer) else ""
        forms += [f"{inverted.group(3)} {inverted.group(2)} {inverted.group(4)} {at}{answer}."] * 2
    elif copula:
        thing, verb = copula.group(2), copula.group(1)
        forms += [f"{thing[0].upper()}{thing[1:]} {verb} {answer}.", f"{answer[0].upper()}{answer[1:]} {verb} {thing}."]
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
        yield Row(row["passage"], f"{question}? Yes.", ENTAILED if yes else CONTRADICTED, "boolq")
        yield Row(row["passage"], f"{question}? No.", CONTRADICTED if yes else ENTAILED, "boolq")


# ── Wikipedia passages and edited sentences ──────────────────────────────────────────────────────


def wiki_rows(corpus: Corpus, rng: Random) -> Iterator[Row]:
    """For each passage: a claim it carries, one it does not, and the same two against an edited passage."""
    for row in corpus.train:
        text = " ".join(row["text"].split())
        sentences = [sentence for sentence in edits.split(text) if 6 <= len(sentence.split()) <= 60]
        if not sentences:
            continue
        premise = _titled(row["title"], text, rng)
        pool = edits.Pool(corpus.names, (), text)
        sentence = rng.choice(sentences)
        yield from _passage_rows(premise, sentence, row["title"], pool, rng)
        if len(sentences) > 2 and rng.random() < 0.5:
            yield from _other_rows(premise, sentences, row["title"], rng)


def _titled(title: str, text: str, rng: Random) -> str:
    return f"{title}. {text}" if rng.random() < 0.3 else text


def _passage_rows(premise: str, sentence: str, title: str, pool: edits.Pool, rng: Random) -> Iterator[Row]:
    seed = rng.random()
    claim = edits.simplify(sentence, title, Random(seed))  # noqa: S311 - not for secrets
    yield Row(premise, claim, ENTAILED, "wikipedia")
    broken = _break(sentence, pool, rng)
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


def _break(sentence: str, pool: edits.Pool, rng: Random) -> str | None:
    for edit in rng.sample(edits.BREAKS, 4):
        changed = edit(sentence, pool, rng)
        if changed and changed != sentence:
            return changed
    return None


# ── relevance ────────────────────────────────────────────────────────────────────────────────────


def relevance_rows(data: Path, rng: Random) -> Iterator[Row]:
    yield from _answer_sentence_rows(data)
    yield from _reading_rows(data, rng)
    yield from _paragraph_rows(data)
    yield from popqa_pairs(data, held_out=False)
    for row in read(data / "qa_eval" / "triviaqa_retrieved"):
        for passage in row["ctxs"]:
            text = f"{passage['title']}. {passage['text']}"
            yield Row(row["question"], text, RELEVANT if holds(text, row["answers"]) else IRRELEVANT, "triviaqa")


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
        yield Row(row["question"], row["context"], RELEVANT if row["answerable"] else IRRELEVANT, "squad")
        others = sorted(by_title[row["title"]] - {row["context"]})
        if row["answerable"] and others:
            yield Row(row["question"], rng.choice(others), IRRELEVANT, "squad")


def _paragraph_rows(data: Path) -> Iterator[Row]:
    """Multi-hop sets: a paragraph with a supporting fact is relevant, the distractors are not."""
    for row in read(data / "qa_eval" / "2wikimultihop"):
        wanted = {title for title, _ in row["supporting_facts"]}
        for paragraph in row["context"]:
            text = " ".join(paragraph["sentences"])
            label = RELEVANT if paragraph["title"] in wanted else IRRELEVANT
            yield Row(row["question"], f"{paragraph['title']}. {text}", label, "2wiki")
    for row in read(data / "qa_eval" / "musique_ctx"):
        wanted = {step.get("paragraph_support_idx") for step in row["decomposition"]}
        for number, paragraph in enumerate(row["context"]):
            label = RELEVANT if number in wanted else IRRELEVANT
            yield Row(row["question"], f"{paragraph['title']}. {paragraph['text']}", label, "musique")


def popqa_pairs(data: Path, *, held_out: bool) -> Iterator[Row]:
    """Questions about one subject and passages really retrieved for them; relevant: the passage holds an answer.

    Half of the subjects is held out, and every question of the long-tail test set too.
    """
    tail = {row["question"] for row in read(data / "qa_eval" / "crag_popqa_longtail")}
    for row in read(data / "qa_eval" / "popqa_retrieved"):
        if (share(row["metadata"]["subj"]) < 0.5 or row["question"] in tail) == held_out:
            for passage in row["ctxs"]:
                text = f"{passage['title']}. {passage['text']}"
                yield Row(row["question"], text, RELEVANT if holds(text, row["answers"]) else IRRELEVANT, "popqa")
    for row in read(data / "qa_eval" / "popqa_paragraphs"):
        subject = row["question"]
        if (share(subject) < 0.5 or row["question"] in tail) == held_out:
            for text in row["retrieved"]:
                yield Row(row["question"], text, RELEVANT if holds(text, row["answers"]) else IRRELEVANT, "popqa")


def holds(text: str, answers: Sequence[str]) -> bool:
    words = f" {_plain(text)} "
    return any(f" {_plain(answer)} " in words for answer in answers if _plain(answer))


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


# ── all of it ────────────────────────────────────────────────────────────────────────────────────


def judge_rows(data: Path, corpus: Corpus, rng: Random) -> list[Row]:
    pool = edits.Pool(corpus.names, ())
    rows = [*nli_rows(data, corpus, rng), *paws_rows(data, corpus, rng), *conflict_rows(data)]
    rows += [*grounded_rows(data, pool, rng), *qa_rows(data, rng), *boolq_rows(data), *wiki_rows(corpus, rng)]
    return without_tests(rows, data)


def without_tests(rows: Sequence[Row], data: Path) -> list[Row]:
    """The rows whose claim is in no test set (HaluEval's questions stand inside its claims)."""
    tested: set[str] = set()
    for path in sorted((data / "verifier" / "eval").glob("*.jsonl.gz")):
        for row in read(path.with_name(path.name.removesuffix(".jsonl.gz"))):
            tested.add(_plain(row.get("hypothesis") or row.get("question") or ""))
    return [row for row in rows if not row.second or _plain(row.second.split("?")[0]) not in tested]


def dev_rows(data: Path, corpus: Corpus, rng: Random) -> list[tuple[str, str, int, str]]:
    """nli_dev with every premise lengthened by held-out passages: (premise, claim, label, source)."""
    return [
        (lengthen(row["premise"], corpus.held_out, rng), row["hypothesis"], LABELS[row["label"]], row["source"])
        for row in read(data / "verifier" / "nli_dev")
    ]
