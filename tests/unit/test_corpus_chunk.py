"""How a document is cut: at its structure first, by force last."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.corpus_files import read_one
from veridical.corpus import ReadOptions, chunk, chunker_fingerprint
from veridical.corpus.tokens import count_words
from veridical.errors import ConfigError
from veridical.text.passages import searchable_text
from veridical.types import Document, Heading, Passage, Span


def cut(text: str, limit: int, headings: tuple[Heading, ...] = ()) -> list[Passage]:
    return chunk(Document("d", "/d.txt", "D", text, headings=headings), limit, count_words)


def words(number: int, word: str = "word") -> str:
    return " ".join([word] * number)


def test_paragraphs_are_packed_up_to_the_limit_and_not_cut() -> None:
    text = "\n\n".join([words(4, "a"), words(5, "b"), words(6, "c")])
    assert [passage.text for passage in cut(text, 10)] == [f"{words(4, 'a')}\n\n{words(5, 'b')}", words(6, "c")]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = "The wall was built in 1851 by Dr. Crane. It fell in the storm of 1903. Nobody built it again."
    assert [passage.text for passage in cut(text, 10)] == [
        "The wall was built in 1851 by Dr. Crane.",
        "It fell in the storm of 1903.",
        "Nobody built it again.",
    ]


def test_a_long_sentence_is_cut_between_words_and_a_long_word_between_characters() -> None:
    passages = cut(words(30), 10)
    assert all(len(passage.text.split()) <= 10 for passage in passages)
    assert " ".join(passage.text for passage in passages) == words(30)
    # No tokenizer would admit 16 characters a token, so a blob without spaces is cut by length.
    blob = cut("x" * 1000, 10)
    assert "".join(passage.text for passage in blob) == "x" * 1000
    assert max(len(passage.text) for passage in blob) <= 160


def test_an_accent_stays_with_its_letter() -> None:
    text = "e\u0301" * 500
    passages = cut(text, 10)
    assert len(passages) > 1
    assert all(not passage.text.startswith("\u0301") for passage in passages)


def test_a_passage_does_not_cross_a_heading() -> None:
    text = f"{words(50, 'a')}\n\n{words(50, 'b')}"
    second = text.index("b")
    passages = cut(text, 200, (Heading(0, ("A",)), Heading(second, ("B",))))
    assert [passage.heading for passage in passages] == [("A",), ("B",)]
    assert passages[1].span == Span(second, len(text))


def test_a_tiny_section_joins_its_sibling_but_not_a_stranger() -> None:
    text = "one two three\n\nfour five six\n\nseven eight nine"
    starts = [0, text.index("four"), text.index("seven")]
    paths = [("A", "x"), ("A", "y"), ("B", "z")]
    passages = cut(text, 200, tuple(Heading(start, path) for start, path in zip(starts, paths, strict=True)))
    assert [passage.text for passage in passages] == ["one two three\n\nfour five six", "seven eight nine"]


def test_a_heading_without_text_of_its_own_stays_with_its_first_section() -> None:
    text = f"Chapter\n\nSection\n\n{words(60)}"
    headings = (Heading(0, ("Chapter",)), Heading(text.index("Section"), ("Chapter", "Section")))
    assert [passage.text for passage in cut(text, 200, headings)] == [text]


def test_other_scripts_are_cut_between_sentences_too() -> None:
    chinese = "港口的墙建于一八五一年。它在一九零三年的风暴中倒塌。没有人再建它。"
    passages = chunk(Document("d", "/d", "D", chinese), 16, lambda texts: [len(text) for text in texts])
    assert [passage.text for passage in passages] == [
        "港口的墙建于一八五一年。",
        "它在一九零三年的风暴中倒塌。",
        "没有人再建它。",
    ]
    arabic = "بني جدار الميناء في ذلك العام. ثم سقط في العاصفة الكبيرة. هل بناه أحد؟"
    assert [passage.text for passage in cut(arabic, 7)] == [
        "بني جدار الميناء في ذلك العام.",
        "ثم سقط في العاصفة الكبيرة.",
        "هل بناه أحد؟",
    ]


def test_an_empty_document_has_no_passages() -> None:
    assert cut("", 10) == []
    assert cut(" \n\n ", 10) == []


def test_title_and_heading_path_are_embedded_but_not_twice() -> None:
    passage = Passage("d:0", "d", "It rose.", Span(0, 8), title="Harbour", heading=("History", "The wall"))
    assert searchable_text(passage) == "Harbour\nHistory > The wall\nIt rose."
    opening = Passage(
        "d:0", "d", "## The wall\n\nIt rose.", Span(0, 21), title="Harbour", heading=("History", "The wall")
    )
    assert searchable_text(opening) == "Harbour\nHistory\n## The wall\n\nIt rose."
    same = Passage("d:0", "d", "# Harbour\n\nIt rose.", Span(0, 19), title="Harbour", heading=("Harbour",))
    assert searchable_text(same) == "# Harbour\n\nIt rose."


def test_the_chunker_fingerprint_follows_what_decides_the_cuts(tmp_path: Path) -> None:
    one = chunker_fingerprint(ReadOptions())
    assert one == chunker_fingerprint(ReadOptions(tags=("x",)))
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text("{}")
    others = [ReadOptions(chunk_tokens=100), ReadOptions(language="de"), ReadOptions(tokenizer=tokenizer)]
    assert len({one, *map(chunker_fingerprint, others)}) == 4


def test_options_that_cannot_work_are_refused() -> None:
    with pytest.raises(ConfigError, match="chunk_tokens"):
        ReadOptions(chunk_tokens=2)
    with pytest.raises(ConfigError, match="html"):
        ReadOptions(html="regex")


def test_code_is_cut_at_definitions(tmp_path: Path) -> None:
    source = tmp_path / "wall.py"
    body = "\n".join(f"    step_{n} = raise_stone(height={n}, weight={n})  # stone number {n}" for n in range(12))
    source.write_text(f"def build():\n{body}\n\n\ndef demolish():\n{body}\n")
    passages = chunk(read_one(source), 200, count_words)
    assert [passage.heading for passage in passages] == [("build",), ("demolish",)]
    assert passages[1].text.startswith("def demolish():")
