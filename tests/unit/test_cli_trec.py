"""BEIR queries in, a TREC run out."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from unit.cli_fakes import FakeEngine
from unit.kits import passage
from veridical.cli import running
from veridical.cli.app import app
from veridical.cli.trec import falling

QUERIES = [{"_id": "q1", "text": "bridge arches"}, {"_id": "q2", "text": "lighthouse"}, {"_id": "q3", "text": "zebra"}]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeEngine:
    made = FakeEngine()
    monkeypatch.setattr(running, "open_engine", made.opened_with)
    monkeypatch.chdir(tmp_path)
    return made


def write(file: Path, lines: list[str]) -> str:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file.name


def search(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["search", *arguments], catch_exceptions=False)


def test_a_run_has_one_line_a_document_best_first(engine: FakeEngine, tmp_path: Path) -> None:
    queries = write(tmp_path / "q.jsonl", [json.dumps(query) for query in QUERIES])
    result = search("--queries", queries, "--run", "out.trec")
    assert result.exit_code == 0
    assert (tmp_path / "out.trec").read_text().splitlines() == [
        "q1 Q0 d1 1 2.000000 veridical",
        "q1 Q0 d2 2 1.000000 veridical",
        "q2 Q0 d2 1 1.000000 veridical",
    ]
    assert "3 queries, 3 lines → out.trec" in result.stdout


def test_gzip_is_read_and_json_sums_up(engine: FakeEngine, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl.gz").write_bytes(gzip.compress(json.dumps(QUERIES[0]).encode()))
    result = search("--queries", "q.jsonl.gz", "--run", "out.trec", "--json")
    assert json.loads(result.stdout) == {"queries": 1, "lines": 2, "run": "out.trec"}


def test_many_passages_of_one_document_do_not_crowd_out_the_others(engine: FakeEngine, tmp_path: Path) -> None:
    crowd = [replace(passage(1, f"bridge arches {n}"), id=f"d1:{n}") for n in range(40)]
    engine.passages = (*crowd, *(passage(n, "bridge") for n in range(2, 8)))
    write(tmp_path / "q.jsonl", [json.dumps(QUERIES[0])])
    search("--queries", "q.jsonl", "--run", "out.trec", "-k", "5")
    documents = [line.split()[2] for line in (tmp_path / "out.trec").read_text().splitlines()]
    assert documents == ["d1", "d2", "d3", "d4", "d5"]


def test_the_document_of_a_near_duplicate_is_ranked_too(engine: FakeEngine, tmp_path: Path) -> None:
    engine.passages = (replace(passage(1, "bridge"), also_in=("d9:3",)), passage(2, "the bridge"))
    write(tmp_path / "q.jsonl", [json.dumps(QUERIES[0])])
    search("--queries", "q.jsonl", "--run", "out.trec")
    documents = [line.split()[2] for line in (tmp_path / "out.trec").read_text().splitlines()]
    assert documents == ["d1", "d9", "d2"]


@pytest.mark.parametrize(
    "bad",
    [
        "not json",
        "[1]",
        '{"_id": "q"}',
        '{"_id": "", "text": "x"}',
        '{"_id": "a b", "text": "x"}',
        '{"_id": "q", "text": " "}',
    ],
)
def test_malformed_lines_are_named_and_nothing_is_written(engine: FakeEngine, tmp_path: Path, bad: str) -> None:
    write(tmp_path / "q.jsonl", [json.dumps(QUERIES[0]), "", bad])
    result = search("--queries", "q.jsonl", "--run", "out.trec")
    assert result.exit_code == 2
    assert "q.jsonl: malformed line 3" in result.stderr
    assert not (tmp_path / "out.trec").exists()


def test_a_failed_run_leaves_the_old_file_alone(engine: FakeEngine, tmp_path: Path) -> None:
    (tmp_path / "out.trec").write_text("old\n")
    engine.fails = RuntimeError("boom")
    write(tmp_path / "q.jsonl", [json.dumps(QUERIES[0])])
    assert search("--queries", "q.jsonl", "--run", "out.trec").exit_code == 70
    assert (tmp_path / "out.trec").read_text() == "old\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.trec", "q.jsonl"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--queries", "none.jsonl", "--run", "out"],
        ["--queries", "empty.jsonl", "--run", "out"],
        ["--queries", "q.jsonl"],
        ["--run", "out"],
        ["bridge", "--queries", "q.jsonl", "--run", "out"],
        ["--queries", "q.jsonl", "--run", "no/such/folder/out"],
    ],
)
def test_what_cannot_be_done_is_said(engine: FakeEngine, tmp_path: Path, arguments: list[str]) -> None:
    write(tmp_path / "q.jsonl", [json.dumps(QUERIES[0])])
    write(tmp_path / "empty.jsonl", [""])
    result = search(*arguments)
    assert result.exit_code == 2
    assert "→" in result.stderr


@given(st.lists(st.floats(0, 1), max_size=30))
def test_scores_of_a_run_fall_strictly(scores: list[float]) -> None:
    made = falling(sorted(scores, reverse=True))
    assert all(one > other for one, other in pairwise(made))
    assert len(made) == len(scores)
