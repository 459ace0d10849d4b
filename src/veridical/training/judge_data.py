"""The rows the judge and the relevance scorer learn from, made from public sets whose licences allow it.

`SOURCES` is the whole list: a set that is not in it is not trained on. Rows are (first text, second text, label,
source): (premise, claim, 0..3) for the judge, (question, passage, 4 or 5) for relevance; an UNKNOWN row has no
label of its own, and only a teacher's opinion of it is learnt.
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

ENTAILED, NEUTRAL, CONTRADICTED, NOT_ENTAILED, IRRELEVANT, RELEVANT, UNKNOWN = range(7)
OUTPUTS = ("entailment", "neutral", "contradiction", "relevance")  # of the model, in order
LABELS = {"entailment": ENTAILED, "neutral": NEUTRAL, "contradiction": CONTRADICTED, "not_entailment": NOT_ENTAILED}

# source: (licence, how often each row is used, at most so many rows). Left out on purpose: sick, scifact, control
# (non-commercial); lingnli, climate_fever, covid_fact, healthver, rte, begin_cmu (no licence found); dnc (mixed).
SOURCES: dict[str, tuple[str, int, int]] = {
    "snli": ("CC BY-SA 4.0", 1, 45_000),
    "mnli": ("OANC and others, free use (MultiNLI)", 1, 99_999),
    "conjnli_auto": ("MIT", 1, 8_000),
    "scitail": ("Apache-2.0", 1, 99_999),
    "fever": ("CC BY-SA 3.0", 2, 99_999),
    "cad_nli": ("Apache-2.0", 1, 99_999),
    "fool_me_twice": ("Apache-2.0", 3, 99_999),
    "fever_symmetric": ("MIT", 2, 99_999),
    "cb": ("CC BY-SA 3.0", 1, 99_999),
    "expertqa": ("MIT", 2, 99_999),
    "wice": ("ODC-BY (annotations), CC BY-SA (Wikipedia), Common Crawl terms", 2, 99_999),
    "wice_oracle_chunk": ("as wice", 2, 99_999),
    "wice_partial": ("as wice", 2, 99_999),
    "begin_wow": ("CC BY 4.0", 3, 99_999),
    "begin_tc": ("CDLA-Sharing-1.0 (results are free)", 2, 99_999),
    "attributionbench_AttributedQA": ("Apache-2.0 (dataset card)", 2, 99_999),
    "attributionbench_ExpertQA": ("Apache-2.0 (dataset card)", 2, 99_999),
    "attributionbench_Stanford-GenSearch": ("Apache-2.0 (dataset card)", 2, 99_999),
    "paws": ("PAWS licence: free use with attribution", 1, 99_999),
    "factscore": ("MIT", 1, 99_999),
    "boolq": ("CC BY-SA 3.0", 1, 99_999),
    "squad": ("CC BY-SA 4.0", 1, 99_999),
    "nq": ("CC BY-SA 3.0", 1, 99_999),
    "qed": ("CC BY-SA 3.0", 1, 99_999),
    "hotpot": ("CC BY-SA 4.0", 1, 99_999),
    "conflictqa": ("Apache-2.0", 1, 99_999),
    "clapnq": ("Apache-2.0", 1, 99_999),
    "pubmedqa": ("MIT", 1, 99_999),
    "mtrag": ("Apache-2.0", 1, 99_999),
    "asqa": ("Apache-2.0", 1, 99_999),
    "wikipedia": ("CC BY-SA 3.0 / 4.0", 1, 999_999),
    "adversarial_qa": ("CC BY-SA 4.0", 1, 99_999),
    "selqa": ("Apache-2.0", 1, 99_999),
    "qnli": ("CC BY-SA 4.0", 1, 99_999),
    "triviaqa": ("Apache-2.0", 1, 99_999),
    "2wiki": ("Apache-2.0", 1, 99_999),
    "musique": ("CC BY 4.0", 1, 99_999),
    "popqa": ("MIT", 1, 99_999),
    "bioasq": ("CC BY 2.5", 1, 99_999),
}
# More sets, each found in a public repository and converted to the same fields: file: (licence, times, at most).
FURTHER: dict[str, tuple[str, int, int]] = {
    "defacto": ("MIT", 2, 99_999),
    "fib_human": ("CC BY 4.0", 1, 99_999),
    "fib_auto": ("CC BY 4.0", 1, 99_999),
    "faithdial_audit": ("MIT", 2, 99_999),
    "contractnli_devtest": ("CC BY 4.0", 1, 2_000),
    "condaqa_yesno": ("Apache-2.0", 1, 12_000),
    "citation_integrity": ("MIT", 1, 99_999),
    "halueval_qa_1k": ("MIT", 1, 99_999),
    "scone": ("CC0 1.0", 1, 2_000),
    "entailmentbank": ("CC BY 4.0", 1, 99_999),
    "ex_fever_explanations": ("CC BY-SA 3.0", 1, 99_999),
    "feverous_text_dev": ("CC BY-SA 3.0", 2, 99_999),
    "propsegment_dev": ("CC BY 4.0", 1, 99_999),
    "sufficient_facts": ("MIT (text CC BY-SA)", 2, 99_999),
}
_WINDOW_WORDS = 150  # of a long premise: what the judge reads at once


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


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


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


def focus(premise: str, claim: str, rng: Random) -> str:
    """Of a long premise the run of sentences that shares most with the claim: where support would be found."""
    if len(premise.split()) <= _WINDOW_WORDS * 4 // 3:
        return premise
    wanted = {word for word in plain(claim).split() if len(word) > 3}
    sentences = edits.split(premise)
    shared = [len(wanted & set(plain(sentence).split())) for sentence in sentences]
    best = max(range(len(sentences)), key=lambda at: (shared[at], rng.random()))
    first = last = best
    room = rng.randint(_WINDOW_WORDS // 2, _WINDOW_WORDS * 4 // 3) - len(sentences[best].split())
    while room > 0 and (first > 0 or last < len(sentences) - 1):
        before = first > 0 and (last == len(sentences) - 1 or rng.random() < 0.5)
        first, last = (first - 1, last) if before else (first, last + 1)
        room -= len(sentences[first if before else last].split())
    return " ".join(sentences[first : last + 1])


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
            yield Row(_dress(row, corpus, rng), row["hypothesis"], LABELS[row["label"]], source)


def _dress(row: dict[str, Any], corpus: Corpus, rng: Random) -> str:
    premise: str = row["premise"]
    if len(premise.split()) < 80:
        return lengthen(premise, corpus.train, rng) if rng.random() < 0.35 else premise
    return focus(premise, row["hypothesis"], rng)


def paws_rows(data: Path, corpus: Corpus, rng: Random) -> Iterator[Row]:
    for row in read(data / "verifier" / "paws_wiki"):
        label = ENTAILED if row["label"] == "paraphrase" else NOT_ENTAILED
        yield Row(_dress(row, corpus, rng), row["hypothesis"], label, "paws")


def further_rows(folder: Path, data: Path, corpus: Corpus, rng: Random) -> Iterator[Row]:
    """Rows of the same shape from the files named in FURTHER, without those whose premise a test set holds."""
    tested = {
        plain(row["premise"][:400])[:150]
        for path in sorted((data / "verifier" / "eval").glob("*.jsonl.gz"))
        for row in read(path.with_name(path.name.removesuffix(".jsonl.gz")))
        if len(row["premise"]) > 300
    }
    for name, (_, times, most) in FURTHER.items():
        rows = [row for row in read(folder / name) if "<t>" not in row["hypothesis"]]  # summaries of many sentences
        rng.shuffle(rows)
        for row in rows[:most]:
            if plain(row["premise"][:400])[:150] not in tested and not row.get("premise_in_eval"):
                for _ in range(times):
                    yield Row(_dress(row, corpus, rng), row["hypothesis"], LABELS[row["label"]], name)


# ── what may not be learnt, and what is chosen on ────────────────────────────────────────────────


def without_tests(rows: Iterable[Row], data: Path) -> list[Row]:
    """The rows whose claim is in no test set (HaluEval's questions stand inside its claims)."""
    tested: set[str] = set()
    for path in sorted((data / "verifier" / "eval").glob("*.jsonl.gz")):
        for row in read(path.with_name(path.name.removesuffix(".jsonl.gz"))):
            tested.add(plain(row.get("hypothesis") or row.get("question") or row.get("response") or ""))
    tested |= {plain(row["hypothesis"]) for row in read(data / "verifier" / "nli_dev")}
    tested.discard("")
    return [row for row in rows if not row.second or plain(row.second.split("?")[0]) not in tested]


def dev_rows(data: Path, corpus: Corpus, rng: Random) -> list[tuple[str, str, int, str]]:
    """nli_dev with every premise lengthened by held-out passages: (premise, claim, label, source)."""
    return [
        (lengthen(row["premise"], corpus.held_out, rng), row["hypothesis"], LABELS[row["label"]], row["source"])
        for row in read(data / "verifier" / "nli_dev")
    ]
