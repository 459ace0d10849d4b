"""Sentence spans survive abbreviations, decimals, lists, tables, marks and other scripts."""

from __future__ import annotations

import pytest

from veridical.text.sentences import sentence_spans, split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Smith paid 3.5 million. He left.", ["Dr. Smith paid 3.5 million.", "He left."]),
        ("It fell [1]. It rose. [2] Then it stood.", ["It fell [1].", "It rose. [2]", "Then it stood."]),
        ("It fell.[1][2] Then it stood.", ["It fell.[1][2]", "Then it stood."]),
        ("Steps:\n- turn the key\n- push", ["Steps:", "- turn the key", "- push"]),
        ("| a | b |\n| c | d |", ["| a | b |", "| c | d |"]),
        ("One\n\nTwo", ["One", "Two"]),
        ("桥在1913年开放。灯塔更老。", ["桥在1913年开放。", "灯塔更老。"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_splitting(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_a_line_break_inside_a_paragraph_does_not_end_a_sentence() -> None:
    assert split_sentences("The bridge\nopened in 1913. It is red.") == ["The bridge\nopened in 1913.", "It is red."]


def test_spans_point_into_the_text() -> None:
    text = "  First one.  Second one!\n\nThird [1]."
    assert [span.of(text) for span in sentence_spans(text)] == ["First one.", "Second one!", "Third [1]."]
