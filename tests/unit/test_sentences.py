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
        ("1. Better coverage [1].", ["1. Better coverage [1]."]),
        ("1. One. Two.\n2) Three.\na) Four\n+ five", ["1. One.", "Two.", "2) Three.", "a) Four", "+ five"]),
        ("> 1. Quoted.\n**2.** Bold.\nIV. Roman.", ["> 1. Quoted.", "**2.** Bold.", "IV. Roman."]),
        ("| a | b |\n| c | d |", ["| a | b |", "| c | d |"]),
        ("| 1. | He left. She too. |\n| 2. | d |", ["| 1. | He left. She too. |", "| 2. | d |"]),
        ("J. R. R. Tolkien, e.g. here. See No. 5.", ["J. R. R. Tolkien, e.g. here.", "See No. 5."]),
        ("The U.S. Army left. It won.", ["The U.S. Army left.", "It won."]),
        ("Get v2.10.3 of it. It is 3.5 km.", ["Get v2.10.3 of it.", "It is 3.5 km."]),
        ("See https://a.org/b.html?x=1. Then Eq. 4.", ["See https://a.org/b.html?x=1.", "Then Eq. 4."]),
        ("ASP.NET is old. Use .NET now.", ["ASP.NET is old.", "Use .NET now."]),
        ("It fell.Then it rose.", ["It fell.", "Then it rose."]),
        ("Wait... what? So... Then he left.", ["Wait... what?", "So...", "Then he left."]),
        ("He said “It is over.” Then he left.", ["He said “It is over.”", "Then he left."]),
        ("“It is over.” [1] Then he left [2].", ["“It is over.” [1]", "Then he left [2]."]),
        ("Half a \ud83d pair. Whole.", ["Half a \ud83d pair.", "Whole."]),
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
