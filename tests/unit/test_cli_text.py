"""Text made printable, snippets, and the words for steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.cli.printable import one_line, path_tail, printable, query_words, short_path, snippet
from veridical.cli.progress import Steps, begun_step, finished_step
from veridical.cli.render import count, seconds, show_answer, size, source_name
from veridical.cli.view import View
from veridical.events import Ended, Started, Token
from veridical.text.claims import find_claims
from veridical.types import Answer, Citation, Draft, Span, Status


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("\x1bP1$q\x1b\\x", "x"),
        ("a\x9b2Jb\x00c\x08", "abc"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
        ("\u202eabc\u2066", "abc"),
        ("naïve – ✓ 日本", "naïve – ✓ 日本"),
    ],
)
def test_escape_sequences_go_and_words_stay(raw: str, shown: str) -> None:
    assert printable(raw) == shown


@given(st.text())
def test_nothing_unprintable_survives(text: str) -> None:
    assert not any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for c in printable(text))


@given(st.text(max_size=2000), st.text(max_size=40))
def test_a_snippet_is_short_and_of_the_text(text: str, query: str) -> None:
    shown = snippet(text, query_words(query))
    assert len(shown) <= 240 + 4
    assert shown.removeprefix("… ").removesuffix(" …") in one_line(text)


def test_a_snippet_shows_where_the_words_are() -> None:
    text = "Filler here. " * 60 + "The harbour dues rose in May. " + "More filler. " * 60
    shown = snippet(text, query_words("harbour dues"))
    assert "harbour dues rose in May" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")


def test_paths_are_shown_from_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert short_path(str(tmp_path / "a" / "b.md")) == "a/b.md"
    assert short_path("/elsewhere/b.md") == "/elsewhere/b.md"
    assert short_path("https://example.org/a") == "https://example.org/a"


def test_a_long_place_keeps_its_end() -> None:
    assert path_tail("/a/b/c.md:1-2", 40) == "/a/b/c.md:1-2"
    assert path_tail("/a/long/folder/name.md:1-2", 19) == "…/name.md:1-2"


def test_a_source_is_named_once() -> None:
    citation = Citation(1, "p", "d", "A history: the Bridge", "/x.md", Span(0, 1), 3, ("the Bridge", "Opening"))
    assert source_name(citation) == "A history: the Bridge › Opening, p. 3"
    assert source_name(Citation(1, "p", "d", "", "/x.md", Span(0, 1))) == "/x.md"


def test_steps_in_words() -> None:
    found = Ended(1, "search", 0.0, 0.1, {"passages": ["a:0", "a:1", "b:0"]})
    assert finished_step(found) == "found 3 passages in 2 documents"
    assert finished_step(Ended(2, "write", 0.0, 0.1, {"text": "", "abstained": "nothing"})) == "found no answer in them"
    assert begun_step(Started(3, 1, "ask", 0.0, {"prompt": "condense_question@1"})) == "rephrasing the follow-up"
    assert finished_step(Ended(4, "answer", 0.0, 0.1)) == ""


def test_a_draft_streams_within_its_step() -> None:
    steps = Steps()
    for event in (Started(1, None, "write", 0.0), Token(1, "The "), Token(1, "bridge.")):
        steps(event)
    assert (steps.now, steps.draft) == ("writing", "The bridge.")
    steps(Ended(1, "write", 1.0, 1.0, {"abstained": ""}))
    assert (steps.now, steps.done) == ("", ["wrote an answer"])


def test_numbers_in_words() -> None:
    assert (count(1, "passage"), count(1200, "passage")) == ("1 passage", "1,200 passages")
    assert (size(900), size(4096), size(98_362_432), size(1_117_320_768)) == ("900 B", "4.1 kB", "98 MB", "1.1 GB")
    assert (seconds(1.25), seconds(125)) == ("1.2 s", "2 min 5 s")


def test_list_items_are_shown_with_their_signs(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Two steps:\n\n1. Turn the key.\n- Push."
    show_answer(View(), Answer("How?", text, Status.PARTIAL, find_claims(Draft(text))))
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if line.startswith("?")] == [
        "? ~~Two steps:~~",
        "? ~~1. Turn the key.~~",
        "? ~~- Push.~~",
    ]
