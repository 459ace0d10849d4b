"""Answers with passages for `alce`: real ones with their own marks, and real ones whose marks are drawn."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.datasets import data_folder, records
from veridical.metrics.citations import Cited, cite_items, cite_sentences
from veridical.metrics.statements import Reading
from veridical.text.sentences import split_sentences
from veridical.types import Draft, Passage, Span

SEED = 5
_EVIDENCE = re.compile(r"\[(\d+)\]\s*(\S*)\s*(.*)", re.DOTALL)  # "[3] https://… the text"
_ODD = ("the", "A", "an", "Paris", "paris", "1,000", "U.S.", "é", "co-op", "—", "’s", "\t", "", "?", "Łódź", "theme")


@dataclass(frozen=True, slots=True)
class Example:
    """One answer with the passages that its marks name."""

    question: str
    text: str
    passages: tuple[Passage, ...]
    is_list: bool = False

    def cited(self, reading: Reading) -> Cited:
        draft = Draft(self.text, self.passages)
        return cite_items(self.question, draft, reading) if self.is_list else cite_sentences(draft, reading)

    @property
    def item(self) -> dict[str, Any]:
        """As the public script wants it."""
        docs = [{"title": one.title, "text": one.text} for one in self.passages]
        return {"question": self.question, "output": self.text, "docs": docs, "is_list": self.is_list}


def expertqa() -> Iterator[Example]:
    """Answers of six systems with the marks they wrote; [n] is the evidence that was recorded as [n]."""
    for row in records(data_folder() / "sft" / "expertqa_cited_answers.jsonl.gz"):
        evidence = [found for claim in row["claims"] for text in claim["evidence"] if (found := _EVIDENCE.match(text))]
        texts = {int(found[1]): (found[2], found[3]) for found in evidence}
        numbers = range(1, max(texts, default=0) + 1)
        passages = tuple(_passage(n, *texts.get(n, ("not recorded", ""))) for n in numbers)
        yield Example(row["question"], row["answer"], passages)


def asqa_drawn() -> Iterator[Example]:
    """People's long answers and retrieved passages; each sentence gets marks by lot."""
    draw = random.Random(SEED)
    for row in asqa():
        passages = tuple(_passage(n, doc["title"], doc["text"]) for n, doc in enumerate(row.get("docs", [])[:5], 1))
        for answer in row["long_answers"] if passages else ():
            yield Example(row["question"], " ".join(_marked(split_sentences(answer), 5, draw)), passages)


def qampari_drawn() -> Iterator[Example]:
    """Gold lists over passages of other questions; each item gets marks by lot."""
    draw = random.Random(SEED)
    pool = [doc for row in asqa() for doc in row.get("docs", [])]
    for row in qampari():
        passages = tuple(_passage(n, doc["title"], doc["text"]) for n, doc in enumerate(draw.sample(pool, 5), 1))
        items = [names[0] for names in row["answers"]]
        yield Example(row["question"], ", ".join(_marked(items, 5, draw)) + ".", passages, is_list=True)


def asqa() -> Iterator[dict[str, Any]]:
    return records(data_folder() / "qa_eval" / "alce_asqa.jsonl.gz")


def eli5() -> Iterator[dict[str, Any]]:
    return records(data_folder() / "qa_eval" / "alce_eli5.jsonl.gz")


def qampari() -> Iterator[dict[str, Any]]:
    return records(data_folder() / "qa_eval" / "alce_qampari.jsonl.gz")


def list_answers() -> Iterator[tuple[str, Sequence[Sequence[str]]]]:
    """(answer, gold answers): the gold list as it stands, and a part of it with wrong and repeated items among it."""
    draw = random.Random(SEED)
    rows = list(qampari())
    for row in rows:
        yield row["answer"], row["answers"]
        other = [draw.choice(names) for names in draw.choice(rows)["answers"]]
        own = [draw.choice(names) for names in row["answers"]]
        items = [*draw.sample(own, draw.randint(0, len(own))), *other[: draw.randint(0, 4)], *own[: draw.randint(0, 2)]]
        draw.shuffle(items)
        yield ", ".join(items) + draw.choice((".", "", ",", " .", ", ")), row["answers"]


def string_pairs() -> Iterator[tuple[str, str]]:
    """(answer, gold): short answers of one question against each other, and odd strings."""
    draw = random.Random(SEED)
    for row in asqa():
        golds = [gold for pair in row["qa_pairs"] for gold in pair["short_answers"]]
        yield from ((one, other) for one in golds[:6] for other in golds[:6])
        odd = [" ".join(draw.choices(_ODD, k=draw.randint(0, 5))) for _ in range(2)]
        yield odd[0], odd[1]


def _marked(pieces: Sequence[str], passages: int, draw: random.Random) -> Iterator[str]:
    """One mark in forty is out of range; a mark may be repeated; up to five a piece."""
    for piece in pieces:
        count = draw.choice((0, 1, 1, 2, 2, 3, 4, 5))
        marks = [draw.randint(1, passages) if draw.random() < 0.975 else passages + 1 for _ in range(count)]
        cited = "".join(f"[{mark}]" for mark in marks)
        body = piece.removesuffix(".")
        yield (f"{body} {cited}" if cited else body) + ("." if body != piece else "")


def _passage(number: int, title: str, text: str) -> Passage:
    return Passage(id=str(number), document_id=str(number), text=text, span=Span(0, len(text)), title=title)
