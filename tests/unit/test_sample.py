"""The sample corpus keeps its promises: its questions can be answered from it, its traps are where it says."""

from __future__ import annotations

import difflib
import email
import email.policy
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from veridical.sample import corpus_folder, questions_file

BINARY = {".pdf", ".docx", ".pptx", ".xlsx", ".epub"}
KINDS = {"single", "multi", "contradiction", "unanswerable", "page", "table", "record", "code", "foreign"}
QUESTIONS: list[dict[str, Any]] = [json.loads(line) for line in questions_file().read_text("utf-8").splitlines()]
ANSWERABLE = [question for question in QUESTIONS if question["kind"] != "unanswerable"]


def corpus_paths() -> list[str]:
    found = (path for path in corpus_folder().rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(path.relative_to(corpus_folder()).as_posix() for path in found)


@cache
def plain_text(relative: str) -> str:
    """The words of a document with white space folded; lines, pages and tags do not matter here."""
    path = corpus_folder() / relative
    if path.suffix in BINARY:
        text = "\n".join(document.text for document in read_documents(path))
    elif path.suffix == ".eml":
        message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
        text = f"{message['Subject']}\n{message.get_content()}"
    else:
        text = path.read_text("utf-8")
    if path.suffix == ".html":
        text = re.sub(r"<[^>]+>", " ", text)
    return " ".join(text.split())


def read_documents(path: Path) -> list[Any]:
    from veridical.corpus.read import read
    from veridical.corpus.source import ReadOptions, Source

    return list(read(Source(path.as_posix(), path, path.stat().st_size), ReadOptions()))


def test_the_corpus_is_small_and_holds_every_format() -> None:
    paths = corpus_paths()
    suffixes = Counter(Path(path).suffix for path in paths)
    assert 36 <= len(paths) <= 48
    assert suffixes[".pdf"] >= 2
    assert suffixes[".docx"] >= 2
    assert suffixes[".html"] >= 2
    assert {".md", ".txt", ".pptx", ".xlsx", ".eml", ".epub", ".csv", ".jsonl", ".py"} <= set(suffixes)
    assert sum((corpus_folder() / path).stat().st_size for path in paths) < 400_000


def test_the_questions_are_well_formed() -> None:
    kinds = Counter(question["kind"] for question in QUESTIONS)
    assert len(QUESTIONS) >= 40
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)
    assert len({question["question"] for question in QUESTIONS}) == len(QUESTIONS)
    assert set(kinds) == KINDS
    assert kinds["unanswerable"] >= 8
    demo = {question["demo"]: question for question in QUESTIONS if "demo" in question}
    assert {number: question["kind"] for number, question in demo.items()} == {
        1: "page",
        2: "contradiction",
        3: "unanswerable",
    }


def test_unanswerable_questions_name_no_source() -> None:
    unanswerable = [question for question in QUESTIONS if question["kind"] == "unanswerable"]
    assert all(not question["answers"] and not question["documents"] for question in unanswerable)


@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda question: question["id"])
def test_the_answer_stands_in_its_documents(question: dict[str, Any]) -> None:
    answers, documents = question["answers"], question["documents"]
    assert answers
    assert set(documents) <= set(corpus_paths())
    texts = [plain_text(document).lower() for document in documents]
    if question["kind"] == "contradiction":
        assert len(answers) == len(documents) == 2
        assert answers[0] != answers[1]
        assert all(answer.lower() in text for answer, text in zip(answers, texts, strict=True))
        assert answers[0].lower() not in texts[1]
    elif question["kind"] == "multi":
        assert any(answer.lower() in texts[0] for answer in answers)
    else:
        assert all(any(answer.lower() in text for answer in answers) for text in texts)


@pytest.mark.parametrize("question", [q for q in QUESTIONS if "page" in q], ids=lambda question: question["id"])
def test_the_answer_stands_on_its_page(question: dict[str, Any]) -> None:
    (document,) = read_documents(corpus_folder() / question["documents"][0])
    starts = [*document.pages, len(document.text)]
    page = " ".join(document.text[starts[question["page"] - 1] : starts[question["page"]]].split())
    assert len(document.pages) >= 3
    assert any(answer in page for answer in question["answers"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("town/seal-code.md", "town/seal-code-campsite.txt"),
        ("harbour/notice-2024-07.txt", "harbour/notice-2024-11.txt"),
    ],
)
def test_near_duplicates_are_nearly_the_same(one: str, other: str) -> None:
    words = plain_text(one).split(), plain_text(other).split()
    assert words[0] != words[1]
    assert difflib.SequenceMatcher(None, *words, autojunk=False).ratio() > 0.9


def test_the_newsletter_quotes_the_lifeboat_history_word_for_word() -> None:
    history = (corpus_folder() / "town/lifeboat-history.md").read_text("utf-8")
    paragraph = next(part for part in history.split("\n\n") if part.startswith("The lifeboat station"))
    assert len(paragraph.split()) > 60
    assert paragraph in (corpus_folder() / "town/newsletter-spring-2024.txt").read_text("utf-8")


def test_the_two_berth_cards_differ_in_one_number_only() -> None:
    cards = [plain_text(f"harbour/{name}.md").split() for name in ("pontoon-c-card", "pontoon-c-card-east-gate")]
    assert [pair for pair in zip(*cards, strict=True) if pair[0] != pair[1]] == [("14", "12")]


def test_one_document_tries_to_give_orders() -> None:
    assert "ignore all previous instructions" in plain_text("town/guestbook-museum.txt").lower()


def test_the_readme_names_only_documents_that_exist() -> None:
    readme = questions_file().with_name("README.md").read_text("utf-8")
    named = set(re.findall(r"`((?:town|harbour|ferry|lighthouse)/[^`]+)`", readme))
    assert len(named) >= 12
    assert named <= set(corpus_paths())
    assert f"{len(QUESTIONS)} questions" in readme
    assert f"{len(corpus_paths())} short documents" in readme
