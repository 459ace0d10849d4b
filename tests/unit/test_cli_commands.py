"""The commands over an engine of fakes: what a person reads, what a script reads, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from unit.cli_fakes import REFUSED, FakeEngine
from unit.kits import passage
from veridical.cli import running
from veridical.cli.app import app
from veridical.errors import BudgetExceeded, IndexMissing
from veridical.index.records import Problem
from veridical.ingest import Report
from veridical.models.verbatim import Verbatim
from veridical.serial import answer_from_json
from veridical.types import Draft, Entailment, Filter, Label, Passage, Status


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeEngine:
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    made = FakeEngine()
    monkeypatch.setattr(running, "open_engine", made.opened_with)
    monkeypatch.chdir(tmp_path)
    return made


def call(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False)


# ── ask ──────────────────────────────────────────────────────────────────────────────────────────


def test_ask_shows_verdict_source_and_the_command_that_opens_it(engine: FakeEngine) -> None:
    result = call("ask", "When was the bridge opened?")
    assert result.exit_code == 0
    assert "✓ The bridge opened in 1913. [1]" in result.stdout
    assert "[1] Bridges, p. 1 — /docs/1.md:100-126" in result.stdout
    assert "veridical open d1 --span 100-126" in result.stdout
    assert "1 other passage read, not cited" in result.stdout
    assert engine.closed


def test_ask_tells_its_steps_on_stderr_only(engine: FakeEngine) -> None:
    result = call("ask", "When was the bridge opened?")
    assert result.stderr.splitlines() == ["found 2 passages in 2 documents", "wrote an answer", "checked 1 sentence"]
    assert call("ask", "When was the bridge opened?", "-q").stderr == ""


def test_the_hint_repeats_the_index_that_was_named(engine: FakeEngine) -> None:
    result = call("ask", "When was the bridge opened?", "-i", "my index")
    assert "--span 100-126 -i 'my index'" in result.stdout
    assert engine.settings.index == "my index"


class Writes:
    """A writer that always writes the same."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def write(self, question: str, passages: Sequence[Passage]) -> Draft:
        return Draft(self.text, tuple(passages))


class Objects(Verbatim):
    """Word for word, and what the passage's own 1913 rules out is contradicted."""

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        said = await super().entail(pairs)
        return [
            Entailment(0.0, 0.02, 0.98) if "1913" in premise and "1920" in claim else one
            for (premise, claim), one in zip(pairs, said, strict=True)
        ]


def test_what_is_not_supported_is_struck_and_says_why(engine: FakeEngine) -> None:
    engine.writer = Writes("The bridge opened in 1913. [1] It is painted green. [1] The bridge opened in 1920. [1]")
    engine.judge = Objects()
    lines = call("ask", "When was the bridge opened?").stdout.splitlines()
    assert lines[0] == "✓ The bridge opened in 1913. [1]"
    assert lines[1] == "? ~~It is painted green. [1]~~"
    assert lines[2].startswith("    unverified: ")
    assert lines[3] == "✗ ~~The bridge opened in 1920. [1]~~"
    assert lines[4:6] == ["    contradicted: the cited passage says otherwise", "    [1] “The bridge opened in 1913.”"]
    assert lines[6] == "Only in part: 2 of 3 sentences are not supported by the sources"


def test_on_a_terminal_unsupported_is_struck_and_contradicted_is_red(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    engine.writer = Writes("It has five arches. [1] It is painted green. [1] The bridge opened in 1920. [1]")
    engine.judge = Objects()
    shown = call("ask", "When was the bridge opened?", "-q").stdout
    assert "\x1b[2;9mIt is painted green. [1]" in shown
    assert "\x1b[9;31mThe bridge opened in 1920. [1]" in shown
    assert "~~" not in shown


def test_a_repaired_citation_says_so(engine: FakeEngine) -> None:
    engine.writer = Writes("The bridge opened in 1913. [2]")
    lines = call("ask", "When was the bridge opened?").stdout.splitlines()
    assert lines[:2] == ["✓ The bridge opened in 1913. [1]", "    citation repaired: [2] → [1]"]


def test_conflicting_sources_are_both_quoted(engine: FakeEngine) -> None:
    engine.passages = (passage(1, "The bridge opened in 1920."), passage(2, "The bridge opened in 1913."))
    engine.judge = Objects()
    engine.writer = Writes("The bridge opened in 1920. [1]")
    lines = call("ask", "When was the bridge opened?").stdout.splitlines()
    assert lines[1:4] == [
        "! the sources disagree about: The bridge opened in 1920.",
        "    [1] “The bridge opened in 1920.”",
        "    [2] “The bridge opened in 1913.”",
    ]
    assert lines[6].startswith("[2] ")


def test_verbose_shows_scores_and_evidence(engine: FakeEngine) -> None:
    shown = call("ask", "When was the bridge opened?", "--verbose").stdout
    assert "    [1] “The bridge opened in 1913.”\n    score 1.00" in shown
    assert "score" not in call("ask", "When was the bridge opened?").stdout


def test_a_draft_without_a_supported_sentence_is_withheld(engine: FakeEngine) -> None:
    engine.writer = Writes("It is painted green. [1] It is long. [2]")
    result = call("ask", "When was the bridge opened?")
    assert result.exit_code == 20
    assert result.stdout.startswith("I don't know: no sentence of the draft could be verified")
    assert "green" not in result.stdout
    assert "2 unsupported sentences withheld; ask --verbose shows them" in result.stdout
    assert "What comes nearest:" in result.stdout
    assert "? ~~It is painted green. [1]~~" in call("ask", "When was the bridge opened?", "-v").stdout


def test_abstaining_has_its_own_exit_code_and_offers_the_nearest_passages(engine: FakeEngine) -> None:
    result = call("ask", "Is it in or of?")
    assert result.exit_code == 20
    assert result.stdout.startswith("I don't know: no passage shares a word")
    assert "What comes nearest:" in result.stdout
    assert "[1] Bridges, p. 1" in result.stdout


def test_ask_json_is_the_whole_answer_and_nothing_else(engine: FakeEngine) -> None:
    result = call("ask", "When was the bridge opened?", "--json")
    answer = answer_from_json(result.stdout)
    assert answer.status is Status.ANSWERED
    assert answer.claims[0].verdict.label is Label.SUPPORTED
    assert result.stderr == ""


def test_ask_takes_flags_filters_and_stdin(engine: FakeEngine) -> None:
    call("ask", "-", "--llm", "openai:m", "--method", "rag", "-k", "7", "--type", ".PDF", "--after", "2024-01-01",
         stdin="When was the bridge opened?")  # fmt: skip
    question, where, _ = engine.asked[-1]
    assert question == "When was the bridge opened?"
    assert where is not None
    assert where.types == ("pdf",)
    assert where.after is not None
    assert (engine.settings.llm, engine.settings.search.k) == ("openai:m", 7)


def test_show_passages_prints_what_was_read(engine: FakeEngine) -> None:
    assert "It has five arches." in call("ask", "When was the bridge opened?", "--show", "passages").stdout


def test_trace_writes_every_event_as_a_line(engine: FakeEngine, tmp_path: Path) -> None:
    call("ask", "When was the bridge opened?", "--trace", "t.jsonl")
    events = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [event["name"] for event in events if event["event"] == "ended"] == ["search", "write", "verify"]


def test_a_trace_that_cannot_be_written_is_an_error_before_any_work(engine: FakeEngine) -> None:
    assert call("ask", "Why?", "--trace", "no/such/folder/t").exit_code == 2
    assert engine.asked == []


# ── chat ─────────────────────────────────────────────────────────────────────────────────────────


def test_chat_hands_on_the_talk_and_shows_how_a_follow_up_was_understood(engine: FakeEngine) -> None:
    result = call("chat", stdin="When was the bridge opened?\n\nHow many arches has it?\n/sources\n")
    assert result.exit_code == 0
    assert [turn.question for turn in engine.asked[1][2]] == ["When was the bridge opened?"]
    assert "understood as: When was the bridge opened? How many arches has it?" in result.stdout
    assert result.stdout.rstrip().splitlines()[-1].startswith("[2] Lights")


def test_chat_forgets_and_quits(engine: FakeEngine) -> None:
    call("chat", stdin="When was the bridge opened?\n/clear\nHow many arches has it?\n/quit\nWhat?\n")
    assert len(engine.asked) == 2
    assert engine.asked[1][2] == ()


def test_chat_survives_a_question_that_fails(engine: FakeEngine) -> None:
    engine.fails = BudgetExceeded("the calls are spent", fix="raise budget.calls")
    result = call("chat", stdin="One?\nTwo?\n")
    assert result.exit_code == 0
    assert result.stderr.count("error: the calls are spent") == 2


def test_chat_json_is_one_answer_a_line(engine: FakeEngine) -> None:
    result = call("chat", "--json", stdin="When was the bridge opened?\nHow many arches has it?\n")
    assert [answer_from_json(line).status for line in result.stdout.splitlines()] == [Status.ANSWERED] * 2


# ── search ───────────────────────────────────────────────────────────────────────────────────────


def test_search_ranks_with_place_and_score(engine: FakeEngine) -> None:
    result = call("search", "bridge arches", "-k", "2", "--tag", "a", "--path", "*.md")
    assert result.stdout.splitlines() == [
        " 1. Bridges, p. 1  2.000",
        "    The bridge opened in 1913. It has five arches.",
        "    /docs/1.md:100-146",
        " 2. Lights, p. 2  1.000",
        "    The lighthouse is older than the bridge. Nobody lives there now.",
        "    /docs/2.md:100-164",
    ]
    assert engine.asked[-1][1] == Filter(path="*.md", tags=("a",))


def test_search_json_and_mode(engine: FakeEngine) -> None:
    rows = json.loads(call("search", "bridge", "--json", "--mode", "lexical").stdout)
    assert rows[0]["id"] == "d1:0"
    assert rows[0]["span"] == [100, 146]
    assert engine.settings.search.mode == "lexical"


def test_search_without_anything_to_search_for(engine: FakeEngine) -> None:
    assert call("search").exit_code == 2
    assert "nothing resembles that" in call("search", "zebra").stdout


def test_a_bad_date_is_named(engine: FakeEngine) -> None:
    result = call("search", "bridge", "--after", "yesterday")
    assert result.exit_code == 2
    assert "yesterday is not a date" in result.stderr


# ── the collection ───────────────────────────────────────────────────────────────────────────────


def test_add_reports_counts_and_refusals_with_what_to_do(engine: FakeEngine) -> None:
    engine.report = Report(added=1, unchanged=3, documents=1, passages=12, refused=(REFUSED,),
                           warnings=(("/docs/a.txt", "read as latin-1"),), seconds=2.0)  # fmt: skip
    result = call("add", "docs", "--tag", "t")
    assert result.exit_code == 0
    assert "1 added, 3 unchanged, 1 refused (1 document, 12 passages) in 2.0 s" in result.stdout
    assert "/docs/broken[red].pdf  it is encrypted  Save it without a password." in result.stdout
    assert "warning: /docs/a.txt: read as latin-1" in result.stderr
    assert "embedding: 1 of 2 sources, 50 passages, 8 passages/s" in result.stderr
    assert engine.asked[0][0] == "docs t"


def test_add_fails_when_everything_was_refused(engine: FakeEngine) -> None:
    engine.report = Report(refused=(REFUSED,))
    assert call("add", "docs").exit_code == 11
    assert json.loads(call("add", "docs", "--json").stdout)["refused"][0]["reason"] == "it is encrypted"


def test_add_needs_something_and_only_one_kind(engine: FakeEngine) -> None:
    assert call("add").exit_code == 2
    assert call("add", "docs", "--beir", "corpus.jsonl").exit_code == 2
    assert call("add", "--beir", "corpus.jsonl").exit_code == 0


def test_quiet_add_says_nothing(engine: FakeEngine) -> None:
    result = call("add", "docs", "-q")
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.parametrize("command", [["sync"], ["sync", "docs"], ["rebuild"]])
def test_sync_and_rebuild_report_alike(engine: FakeEngine, command: list[str]) -> None:
    assert "2 added (2 documents, 2 passages)" in call(*command).stdout


def test_rm_counts_and_refuses_the_unknown(engine: FakeEngine) -> None:
    assert call("rm", "d1").stdout == "removed 1 document\n"
    assert json.loads(call("rm", "d1", "--json").stdout) == {"removed": 1}
    assert call("rm", "d9").exit_code == 2


def test_ls_aligns_without_cutting_and_strips_control_characters(engine: FakeEngine) -> None:
    result = call("ls")
    assert result.stdout.splitlines() == [
        "id  title        type      date        passages  path",
        "d1  Bridges      markdown  2024-01-02  1         /docs/1.md",
        "d2  [red]Lights  pdf                   3         /docs/2.pdf",
    ]
    assert json.loads(call("ls", "--json", "-n", "1").stdout)[0]["date"] == "2024-01-02"
    assert "the first 1" in call("ls", "-n", "1").stderr


def test_status_and_its_check(engine: FakeEngine) -> None:
    plain = call("status").stdout
    assert "passages   3 (1 near-duplicates)" in plain
    assert "on disk    4.2 kB (store 4.1 kB, lexical 100 B)" in plain
    assert "✓ checked" in call("status", "--check").stdout
    engine.problems = [Problem("a vector is missing", "run `veridical rebuild`")]
    broken = call("status", "--check")
    assert broken.exit_code == 5
    assert broken.stdout.splitlines()[-2:] == ["✗ a vector is missing", "  → run `veridical rebuild`"]
    assert json.loads(call("status", "--check", "--json").stdout)["problems"][0]["what"] == "a vector is missing"


def test_open_marks_the_span(engine: FakeEngine) -> None:
    result = call("open", "d1", "--span", "100-126")
    assert "»The bridge opened in 1913.« It has five arches." in result.stdout
    assert "/docs/d1.md:100-126, p. 2" in result.stdout
    shown = json.loads(call("open", "d1", "--span", "100-126", "--json").stdout)
    assert (shown["text"], shown["page"]) == ("The bridge opened in 1913.", 2)


@pytest.mark.parametrize(
    "arguments", [["d9"], ["d1", "--span", "5"], ["d1", "--span", "9-5"], ["d1", "--span", "0-9999"]]
)
def test_open_refuses_what_is_not_there(engine: FakeEngine, arguments: list[str]) -> None:
    result = call("open", *arguments)
    assert result.exit_code == 2
    assert "→" in result.stderr


def test_a_missing_index_is_told_with_its_code(engine: FakeEngine) -> None:
    engine.fails = IndexMissing("there is no index at x", fix="veridical add FOLDER")
    assert call("ls").exit_code == 3
    as_json = call("ls", "--json")
    assert json.loads(as_json.stdout) == {
        "error": "there is no index at x",
        "fix": "veridical add FOLDER",
        "exit_code": 3,
    }
    assert as_json.stderr == ""


# ── text from documents is data ──────────────────────────────────────────────────────────────────


def test_markup_and_escapes_in_documents_are_shown_as_text(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    evil = "The [bold red]bridge[/] \x1b]0;owned\x07opened\x1b[2J \x9b31m[/nonsense] :smile: \u202ereversed."
    engine.passages = (replace(passage(1, evil, "T[/bold]"), heading=("H\x1b[31m",)),)
    for command in (["search", "bridge"], ["ask", "When was the bridge opened?"]):
        result = call(*command, "-q")
        assert "[bold red]" in result.stdout
        assert ":smile:" in result.stdout
        assert "[/nonsense]" in result.stdout
        assert "\x1b]0;" not in result.stdout
        assert "owned" not in result.stdout
        assert "\x1b[2J" not in result.stdout
        assert "\u202e" not in result.stdout
