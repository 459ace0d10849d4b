"""The set-up commands: doctor, models, demo; and the look of a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from unit.cli_fakes import FakeEngine
from unit.kits import passage
from veridical.cli import doctor, models, running
from veridical.cli.app import app
from veridical.cli.demo import read_draft
from veridical.errors import CorruptIndex, IndexMissing, ModelUnavailable
from veridical.models import discover
from veridical.models.embed import MiniLm
from veridical.models.verbatim import Verbatim
from veridical.sample import corpus_folder, draft_file
from veridical.types import Entailment


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeEngine:
    made = FakeEngine()
    monkeypatch.setattr(running, "open_engine", made.opened_with)
    monkeypatch.setenv("VERIDICAL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    async def none() -> tuple[discover.Found, ...]:
        return ()

    monkeypatch.setattr(discover, "discover", none)
    return made


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


# ── doctor ───────────────────────────────────────────────────────────────────────────────────────


def test_doctor_is_content_without_an_index_and_says_how_to_make_one(engine: FakeEngine) -> None:
    engine.fails = IndexMissing("there is no index at .veridical", fix="add")
    result = call("doctor")
    assert result.exit_code == 0
    assert "· index: there is no index at .veridical\n  → veridical add FOLDER" in result.stdout
    assert "→ veridical model pull smollm2" in result.stdout
    assert "All that is needed is here." in result.stdout


def test_doctor_fails_on_a_broken_index_or_embedder(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(self: MiniLm) -> None:
        raise ModelUnavailable("model.onnx is damaged", fix="reinstall the package")

    monkeypatch.setattr(MiniLm, "verify_weights", damaged)
    engine.fails = CorruptIndex("it cannot be read", fix="restore it")
    result = call("doctor", "--json")
    assert result.exit_code == 12
    report = json.loads(result.stdout)
    missing = {row["what"]: row["fix"] for row in report["findings"] if row["state"] == "missing"}
    assert missing == {"embedder": "reinstall the package", "index": "restore it"}


def test_doctor_offers_a_server_it_found(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    async def one() -> tuple[discover.Found, ...]:
        return (discover.Found("Ollama", "http://127.0.0.1:11434/v1", ("llama3.2:3b",)),)

    monkeypatch.setattr(discover, "discover", one)
    result = call("doctor")
    assert "--llm openai:llama3.2:3b --set openai.base_url=http://127.0.0.1:11434/v1" in result.stdout


def test_doctor_names_the_package_that_is_missing(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_PACKAGES", ("no-such-package",))
    result = call("doctor")
    assert result.exit_code == 12
    assert "→ pip install no-such-package" in result.stdout


# ── models ───────────────────────────────────────────────────────────────────────────────────────


def test_model_list_says_what_is_here(engine: FakeEngine) -> None:
    rows = {row["name"]: row for row in json.loads(call("model", "list", "--json").stdout)}
    assert rows["minilm"]["installed"]
    assert not rows["smollm2"]["installed"]
    assert rows["smollm2"]["licence"] == "Apache-2.0"


def test_pulling_from_a_wrong_file_is_refused(engine: FakeEngine, tmp_path: Path) -> None:
    (tmp_path / "wrong.gguf").write_bytes(b"GGUF but not the one")
    result = call("model", "pull", "smollm2", "--from", "wrong.gguf")
    assert result.exit_code == 7
    assert "error: no source gave smollm2" in result.stderr


def test_removing_what_is_not_here_and_what_has_no_name(engine: FakeEngine) -> None:
    assert call("model", "rm", "smollm2").stdout == "smollm2 was not here\n"
    assert "did you mean 'smollm2'?" in call("model", "rm", "smollm").stderr


def test_testing_a_model_that_was_not_pulled(engine: FakeEngine) -> None:
    result = call("model", "test", "smollm2")
    assert result.exit_code == 7
    assert "veridical model pull smollm2" in result.stderr


def test_a_generator_is_tested_for_sense_and_speed(engine: FakeEngine, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text('{"sea": "The sea is wide and blue."}')
    result = call("model", "test", "fake:script.json")
    assert result.exit_code == 0
    assert "tokens/s; it wrote: The sea is wide and blue." in result.stdout
    (tmp_path / "script.json").write_text('{"sea": "### ## 1 1 1"}')
    nonsense = call("model", "test", "fake:script.json")
    assert nonsense.exit_code == 8


def test_the_embedder_is_tested_for_hashes_and_sense(engine: FakeEngine) -> None:
    found = json.loads(call("model", "test", "minilm", "--json").stdout)
    assert found["like"] > found["unlike"] + 0.2
    assert found["model"] == models.EMBEDDER


# ── demo ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def island(engine: FakeEngine) -> FakeEngine:
    """The engine of fakes, which also knows the documents that the demo's draft names."""
    _, paths = read_draft(draft_file().read_text(encoding="utf-8"))
    for number, path in enumerate(paths, 11):
        text = (corpus_folder() / path).read_text(encoding="utf-8")
        engine.passages += (replace(passage(number, text, path), uri=path),)
    return engine


def test_demo_asks_three_questions_and_says_what_next(island: FakeEngine) -> None:
    result = call("demo")
    assert result.exit_code == 0
    assert result.stdout.count("$ veridical ask") == 3
    assert "$ veridical search" in result.stdout
    assert "✓ supported  ✗ contradicted  ? unverified" in result.stdout
    assert "veridical add FOLDER" in result.stdout
    assert island.settings.index == ".demo"


def test_demo_strikes_what_is_not_in_the_sources_and_repairs_a_citation(island: FakeEngine) -> None:
    shown = call("demo").stdout
    assert "✓ The tide gauge at Kellin Haven was set up by Adela Quill in 1889. [2]\n" in shown
    assert "    citation repaired: [1] → [2]\n" in shown
    assert "? ~~Adela Quill also designed the Gut Bridge. [3]~~\n" in shown


def test_demo_scripts_no_verdict(island: FakeEngine) -> None:
    class Believing(Verbatim):
        async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
            return [Entailment(1.0, 0.0, 0.0) for _ in pairs]

    class Doubting(Verbatim):
        async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
            return [Entailment(0.0, 1.0, 0.0) for _ in pairs]

    paraphrase = "The tower was built of granite from the Upper Garth quarry. [1]"
    assert f"? ~~{paraphrase}~~" in call("demo").stdout
    island.judge = Believing()
    assert f"✓ {paraphrase}" in call("demo").stdout
    island.judge = Doubting()
    shown = call("demo").stdout
    assert "repaired: [" not in shown
    assert "✓ Farrow Light" not in shown


def test_demo_json_is_three_answers_and_the_checked_draft(island: FakeEngine) -> None:
    answers = json.loads(call("demo", "--json").stdout)
    assert len(answers) == 4
    assert (answers[3]["question"], answers[3]["method"]) == ("", "verify")


# ── a terminal ───────────────────────────────────────────────────────────────────────────────────


def test_on_a_terminal_lines_wrap_and_the_live_steps_are_replaced(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "60"}.items():
        monkeypatch.setenv(name, value)
    result = call("ask", "When was the bridge opened?")
    assert "found 2 passages in 2 documents · wrote an answer" in result.stdout
    assert "\x1b[" in result.stdout
    assert result.stderr == ""
    listed = call("ls").stdout
    assert "markdown · 2024-01-02 · 1 passage · /docs/1.md" in listed
    added = call("add", "docs").stdout
    assert "2 added (2 documents, 2 passages) in 0.5 s" in added


def test_no_colour_in_a_pipe_or_with_json(engine: FakeEngine) -> None:
    for arguments in (["ask", "When was the bridge opened?"], ["ls"], ["search", "bridge"], ["doctor"]):
        assert "\x1b" not in call(*arguments).output
        assert "\x1b" not in call(*arguments, "--json").output
