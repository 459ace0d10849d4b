"""What every command has in common: options, settings, ways to fail, and what it costs to say --help."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import veridical
from unit.cli_fakes import FakeEngine
from veridical import errors
from veridical.cli import exits, running
from veridical.cli.app import app

HEAVY = ("numpy", "onnxruntime", "tantivy", "httpx2", "tokenizers", "lxml", "pypdfium2", "pydantic", "asyncio")


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeEngine:
    made = FakeEngine()
    monkeypatch.setattr(running, "open_engine", made.opened_with)
    monkeypatch.chdir(tmp_path)
    return made


def call(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False)


def loaded_after(code: str) -> set[str]:
    """The heavy modules in memory after `code` ran in a fresh interpreter."""
    tail = f"\nimport sys\nprint('LOADED', *[m for m in {HEAVY!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code + tail], capture_output=True, text=True, check=True).stdout
    return set(out.rpartition("LOADED")[2].split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_after("import veridical") == set()


def test_help_loads_nothing_heavy() -> None:
    run = "from veridical.cli import main\ntry: main()\nexcept SystemExit: pass"
    code = f"import sys\nsys.argv = ['veridical', '--help']\n{run}"
    assert loaded_after(code) == set()


def _commands() -> list[list[str]]:
    import typer.main

    def below(command: object, path: list[str]) -> list[list[str]]:
        inner = getattr(command, "commands", None)
        if inner is None:
            return [path]
        return [found for name, each in inner.items() for found in below(each, [*path, name])]

    return below(typer.main.get_command(app), [])


@pytest.mark.parametrize("command", _commands(), ids=" ".join)
def test_every_command_takes_the_common_options_and_gives_an_example(command: list[str]) -> None:
    help_ = call(*command, "--help").stdout
    for option in ("--index", "--json", "--quiet", "--config", "--set", "--debug"):
        assert option in help_
    assert f"Example: veridical {' '.join(command)}" in help_


def test_the_commands_of_this_release() -> None:
    assert {" ".join(path) for path in _commands()} == {
        "add", "sync", "rm", "ls", "open", "status", "rebuild", "search", "ask", "chat", "methods", "model list",
        "model pull", "model rm", "model test", "config show", "doctor", "demo", "verify", "version",
    }  # fmt: skip


def test_version_both_ways() -> None:
    assert call("--version").stdout == call("version").stdout == f"veridical {veridical.__version__}\n"


def test_every_error_has_a_documented_exit_code() -> None:
    def below(kind: type[errors.VeridicalError]) -> list[type[errors.VeridicalError]]:
        return [kind, *(found for each in kind.__subclasses__() for found in below(each))]

    assert {kind.exit_code for kind in below(errors.VeridicalError)} <= set(exits.MEANINGS)


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


def test_flags_win_over_set_environment_and_file(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "own.toml").write_text('llm = "from-file"\n[search]\nk = 3\ncandidates = 50\n')
    monkeypatch.setenv("VERIDICAL_SEARCH__K", "4")
    show = json.loads(call("config", "show", "--json", "--config", "own.toml").stdout)
    assert (show["search.k"]["value"], show["search.k"]["origin"]) == (4, "VERIDICAL_SEARCH__K")
    assert (show["llm"]["value"], show["llm"]["origin"]) == ("from-file", "own.toml")
    call("ask", "When was the bridge opened?", "--config", "own.toml", "--set", "search.k=5", "--set", "llm=quote")
    assert (engine.settings.search.k, engine.settings.llm, engine.settings.search.candidates) == (5, "quote", 50)
    call("ask", "When was the bridge opened?", "--set", "search.k=5", "-k", "6")
    assert engine.settings.search.k == 6


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--set", "serch.k=3"], "did you mean search.k?"),
        (["--set", "search.k"], "key=value"),
        (["--set", "search.k=many"], "search.k"),
        (["--config", "nowhere.toml"], "--config"),
    ],
)
def test_a_wrong_setting_says_what_to_write(engine: FakeEngine, option: list[str], said: str) -> None:
    result = call("config", "show", *option)
    assert result.exit_code == 2
    assert said in result.stderr


def test_the_api_key_is_never_shown(engine: FakeEngine) -> None:
    for extra in ([], ["--json"]):
        assert "s3cret" not in call("config", "show", "--set", "openai.api_key=s3cret", *extra).output


# ── ways to fail ─────────────────────────────────────────────────────────────────────────────────


def test_an_unexpected_error_is_a_sentence_and_a_traceback_on_request(engine: FakeEngine) -> None:
    engine.fails = RuntimeError("[red]boom")
    short = call("ls")
    assert short.exit_code == 70
    assert "error: unexpected RuntimeError: [red]boom" in short.stderr
    assert "Traceback" not in short.stderr
    assert "Traceback" in call("ls", "--debug").stderr
    assert json.loads(call("ls", "--json").stdout)["exit_code"] == 70


def test_ctrl_c_ends_without_a_traceback(engine: FakeEngine) -> None:
    engine.fails = KeyboardInterrupt()
    result = call("ls")
    assert (result.exit_code, result.stderr) == (130, "stopped\n")
    assert engine.closed


def test_a_reader_that_goes_away_is_no_error() -> None:
    import os

    read, write = os.pipe()
    os.close(read)
    code = "from veridical.cli import main; import sys; sys.argv = ['veridical', 'config', 'show']; main()"
    done = subprocess.run([sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_terminal_without_unicode_still_gets_its_answer() -> None:
    code = "from veridical.cli import main; import sys; sys.argv = ['veridical', 'model', 'list']; main()"
    env = {"PYTHONIOENCODING": "ascii", "PATH": "", "HOME": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, check=False)
    assert done.returncode == 0
    assert b"smollm2" in done.stdout


def test_methods_lists_ours() -> None:
    assert "rag" in call("methods").stdout
    assert {row["name"] for row in json.loads(call("methods", "--json").stdout)} >= {"rag", "closed"}
