"""The command line over a small real collection, with the embedded models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from veridical.cli.app import app
from veridical.serial import answer_from_json
from veridical.types import Label, Status

pytestmark = pytest.mark.slow

LIGHT = """# The light on Skerry Point

## History

The light on Skerry Point was first lit on 4 March 1871. Its first keeper was Hanna Brandt.

## The lamp

The lamp burns rape oil. Its light is seen for 19 nautical miles.
"""
FERRY = "The ferry to the island leaves at nine in the morning.\n\nA ticket costs four crowns for adults.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents and an index over them; tests that write use indexes of their own."""
    made = tmp_path_factory.mktemp("cli")
    (made / "docs").mkdir()
    (made / "docs" / "light.md").write_text(LIGHT)
    (made / "docs" / "ferry.txt").write_text(FERRY)
    (made / "docs" / "broken.pdf").write_bytes(b"%PDF-1.7\nthis is where it ends")
    result = call(made, "add", "docs", "--tag", "isle")
    assert result.exit_code == 0, result.output
    assert "2 added, 1 refused" in result.stdout
    assert "docs/broken.pdf" in result.stdout
    return made


def call(folder: Path, *arguments: str, stdin: str | None = None) -> Result:
    before = Path.cwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False)
    finally:
        os.chdir(before)


def test_ask_answers_with_a_citation_that_opens_at_the_right_place(folder: Path, tmp_path: Path) -> None:
    question = "When was the light on Skerry Point first lit?"
    trace = tmp_path / "trace.jsonl"
    result = call(folder, "ask", question, "--json", "--trace", str(trace))
    assert result.exit_code == 0
    answer = answer_from_json(result.stdout)
    assert answer.status is Status.ANSWERED
    assert "4 March 1871" in answer.text
    claim = answer.claims[0]
    assert claim.verdict.label is Label.SUPPORTED
    assert claim.verdict.evidence is not None
    source = claim.verdict.evidence.source
    opened = call(folder, "open", source.document_id, "--span", f"{source.span.start}-{source.span.end}", "--json")
    assert json.loads(opened.stdout)["text"] == claim.verdict.evidence.text
    assert "4 March 1871" in claim.verdict.evidence.text
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [event["name"] for event in events if event["event"] == "ended"] == ["search", "write", "verify", "answer"]


def test_the_plain_answer_has_no_escapes_and_its_hint_works(folder: Path) -> None:
    result = call(folder, "ask", "When was the light on Skerry Point first lit?")
    assert "\x1b" not in result.output
    assert "✓ The light on Skerry Point was first lit on 4 March 1871." in result.stdout
    assert "docs/light.md:" in result.stdout
    hint = result.stdout.partition("veridical open ")[2].split()
    opened = call(folder, "open", *hint)
    assert "4 March 1871" in opened.stdout.partition("»")[2].partition("«")[0]


def test_a_document_opens_by_its_path(folder: Path) -> None:
    assert "rape oil" in call(folder, "open", "docs/light.md").stdout
    assert "no document comes from docs/none.md" in call(folder, "open", "docs/none.md").stderr


def test_an_unanswerable_question_abstains(folder: Path) -> None:
    result = call(folder, "ask", "Which team won the football cup final in Brazil?")
    assert result.exit_code == 20
    assert result.stdout.startswith("I don't know: ")


@pytest.mark.parametrize("question", ["", "   ", "\x00\x01", "why " * 30_000])
def test_a_question_that_is_none_is_refused(folder: Path, question: str) -> None:
    result = call(folder, "ask", "-", stdin=question)
    assert result.exit_code == 2
    assert "→" in result.stderr


def test_filters_restrict_search_and_listing(folder: Path) -> None:
    found = json.loads(call(folder, "search", "light", "--type", "txt", "--json").stdout)
    assert {row["title"] for row in found} <= {"ferry"}
    listed = json.loads(call(folder, "ls", "--json", "--tag", "isle").stdout)
    assert [Path(row["uri"]).name for row in listed] == ["ferry.txt", "light.md"]
    assert all(row["passages"] >= 1 and row["tags"] == ["isle"] for row in listed)
    assert json.loads(call(folder, "ls", "--json", "--tag", "other").stdout) == []


def test_status_check_is_clean(folder: Path) -> None:
    result = call(folder, "status", "--check", "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["stats"]["documents"] == 2
    assert report["problems"] == []


def test_chat_understands_a_follow_up(folder: Path) -> None:
    talk = "When was the light on Skerry Point first lit?\nWho was its first keeper?\n"
    result = call(folder, "chat", "-q", stdin=talk)
    assert result.exit_code == 0
    assert "understood as: When was the light on Skerry Point first lit? Who was its first keeper?" in result.stdout


def test_a_beir_corpus_in_and_a_trec_run_out(tmp_path: Path) -> None:
    rows = [
        {"_id": "doc-a", "title": "Bridges", "text": "The iron bridge crosses the river at Nye."},
        {"_id": "doc-b", "title": "Bakers", "text": "The baker sells rye bread on Mondays."},
    ]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "queries.jsonl").write_text(
        '{"_id": "1", "text": "where is the iron bridge"}\n{"_id": "2", "text": "who sells bread"}\n'
    )
    assert call(tmp_path, "add", "--beir", "corpus.jsonl").exit_code == 0
    for mode in ("hybrid", "lexical", "dense"):
        done = call(tmp_path, "search", "--queries", "queries.jsonl", "--run", "out.trec", "-k", "10", "--mode", mode)
        assert done.exit_code == 0
        lines = [line.split() for line in (tmp_path / "out.trec").read_text().splitlines()]
        assert all(len(line) == 6 and line[1] == "Q0" for line in lines)
        assert [line[2] for line in lines if line[3] == "1"] == ["doc-a", "doc-b"]


def test_sync_rm_and_rebuild(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ferry.txt").write_text(FERRY)
    (tmp_path / "docs" / "light.md").write_text(LIGHT)
    call(tmp_path, "add", "docs", "-q")
    assert json.loads(call(tmp_path, "sync", "--json").stdout)["unchanged"] == 2
    (tmp_path / "docs" / "light.md").unlink()
    assert json.loads(call(tmp_path, "sync", "--json").stdout)["removed"] == 1
    assert call(tmp_path, "rebuild").exit_code == 0
    assert call(tmp_path, "rm", "docs/ferry.txt").stdout == "removed 1 document\n"
    assert call(tmp_path, "rm", "docs/ferry.txt").exit_code == 2
    assert json.loads(call(tmp_path, "ls", "--json").stdout) == []


def test_nothing_to_add_and_nothing_there(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    empty = call(tmp_path, "add", "empty")
    assert empty.exit_code == 2
    assert "nothing to add" in empty.stderr
    assert call(tmp_path, "add", "no-such-folder").exit_code == 2
    assert call(tmp_path, "ask", "Why?", "-i", "nowhere").exit_code == 3
    unknown = call(tmp_path, "ask", "Why?", "--set", "serch.k=2")
    assert unknown.exit_code == 2
    assert "did you mean search.k?" in unknown.stderr
    assert call(tmp_path, "ask", "Why?", "--method", "rug").exit_code == 2


def test_a_server_that_is_down_is_told(folder: Path) -> None:
    server = ("--llm", "openai:m", "--set", "openai.base_url=http://127.0.0.1:9/v1", "--set", "openai.retries=0")
    result = call(folder, "ask", "Who?", *server)
    assert result.exit_code == 7
    assert "→" in result.stderr


def test_as_a_process_in_a_pipe(folder: Path) -> None:
    command = [sys.executable, "-m", "veridical", "search", "light"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "docs/light.md:" in done.stdout
