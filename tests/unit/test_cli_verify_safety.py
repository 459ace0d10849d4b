"""`verify` does no harm: no text vouches for itself, no input is overwritten, no missing judge is a verdict."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unit.cli_fakes import FakeEngine
from unit.test_cli_verify import (
    LIGHT,
    Engine,
    Reader,
    call,
    check,
    checked,
    engine,
    labels,
    pair,
    pairs_file,
    reader,
    rows_of,
)
from veridical.blocking import Engine as RealEngine
from veridical.cli import running, verify_pairs
from veridical.cli.app import app
from veridical.cli.replacing import replacing
from veridical.cli.verify_show import show_audit
from veridical.cli.verify_text import part_text
from veridical.cli.view import View
from veridical.errors import ConfigError, InputRefused, ModelUnavailable
from veridical.models.cross_encoder import CrossEncoder
from veridical.report import Audit, Rules, distinct, render_page, to_json
from veridical.report.quoting import on_one_line, shorten
from veridical.types import Citation, Claim, Conflict, Entailment, Evidence, Label, Passage, Span, Verdict

__all__ = ["engine", "reader"]  # fixtures

FAKE = "The mayor is tall. The lamp burns whale oil.\n"


# ── a text is no source of itself ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("twin", ["draft.md", "copy.md", "link.md"])
def test_the_text_among_its_sources_supports_nothing(engine: Engine, tmp_path: Path, twin: str) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "light.md").write_text(LIGHT)
    (docs / "draft.md").write_text(FAKE)
    if twin == "copy.md":
        (tmp_path / "copy.md").write_text(FAKE)
    if twin == "link.md":
        (tmp_path / "link.md").symlink_to(docs / "draft.md")
    text = docs / twin if twin == "draft.md" else tmp_path / twin
    result = call(str(text), "--sources", "docs", "--json")
    found = json.loads(result.stdout)
    assert labels(found) == ["unverified", "unverified"]
    assert "not counted as a source, because it is the text itself: docs/draft.md" in found["notes"]


def test_a_text_by_a_pipe_is_recognised_among_the_sources(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "fake.md").write_text(FAKE)
    found = json.loads(call("-", "--json", "--sources", "fake.md", "light.md", stdin=FAKE).stdout)
    assert labels(found) == ["unverified", "unverified"]


def test_a_text_that_is_its_only_source_is_refused(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "fake.md").write_text(FAKE)
    result = call("fake.md", "--sources", "fake.md")
    assert result.exit_code == 2
    assert "the only source is the text itself" in result.stderr


def test_a_text_in_the_index_is_passed_over_for_the_passages_behind_it(engine: Engine, tmp_path: Path) -> None:
    text = "The lamp burns rape oil. The mayor is tall.\n"
    (tmp_path / "mine.md").write_text(text)
    own = tuple(
        replace(engine._passage(1, tmp_path / "mine.md"), id=f"d1:{n}") for n in range(7)
    )  # more than are asked for
    engine.passages = (*own, engine._passage(2, tmp_path / "light.md"))
    found = json.loads(call("mine.md", "--json", "-k", "2").stdout)
    assert labels(found) == ["supported", "unverified"]
    assert found["claims"][0]["evidence"]["source"]["uri"].endswith("light.md")


def test_a_text_whose_file_the_index_knows_by_its_words_alone_is_left_out(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "light.md").unlink()
    text = engine.document("d1").text  # type: ignore[union-attr]
    engine.passages = (Passage("d1:0", "d1", text, Span(0, len(text)), "Gone", "/gone/a.md"),)
    assert set(labels(json.loads(call("-", "--json", stdin=text).stdout))) == {"unverified"}


def test_two_texts_before_sources_are_refused_and_names_behind_it_are_sources(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "fake2.md").write_text(FAKE)
    (tmp_path / "fake1.md").write_text(FAKE + "And so on.\n")
    for order in (
        ["fake1.md", "fake2.md", "--sources", "light.md"],
        ["fake1.md", "-k", "3", "fake2.md", "--sources=light.md"],
    ):
        result = call(*order)
        assert result.exit_code == 2
        assert "one text at a time, not 2: fake1.md, fake2.md" in result.stderr
    found = json.loads(call("fake1.md", "--sources", "light.md", "--json", "ferry.txt").stdout)
    assert found["against"] == "light.md, ferry.txt"
    piped = json.loads(
        call("--sources", "light.md", "ferry.txt", "--json", stdin="The lamp burns rape oil [1].").stdout
    )
    assert (piped["name"], labels(piped)) == ("standard input", ["supported"])


# ── nothing that is read is written over ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("target", ["answer.md", "light.md", "./light.md", "linked.md", "docs/old.html"])
def test_the_page_never_replaces_an_input(engine: Engine, tmp_path: Path, target: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "old.html").write_text("<p>Old.</p>")
    os.link(tmp_path / "light.md", tmp_path / "linked.md")
    before = (tmp_path / target).read_text()
    result = call("answer.md", "--sources", "light.md", "docs", "--html", target)
    assert result.exit_code == 2
    assert "→" in result.stderr
    assert (tmp_path / target).read_text() == before


def test_pairs_and_calibration_never_replace_their_input(engine: Engine, tmp_path: Path) -> None:
    file = pairs_file(tmp_path, [pair("a", "Why.")])
    before = (tmp_path / file).read_text()
    for flag in ("--pairs", "--calibrate"):
        assert call(flag, file, "--out", f"./{file}").exit_code == 2
    assert (tmp_path / file).read_text() == before


def test_a_judge_that_is_missing_leaves_the_last_output_as_it_was(
    engine: Engine, reader: Reader, tmp_path: Path
) -> None:
    (tmp_path / "out.jsonl").write_text("precious\n")
    file = pairs_file(tmp_path, [pair("a", "Why.")])
    reader.fails = ModelUnavailable("model.onnx is missing", fix="reinstall")
    assert call("--pairs", file, "--out", "out.jsonl").exit_code == 7
    reader.fails = None
    assert call("--pairs", pairs_file(tmp_path, [""]), "--out", "out.jsonl").exit_code == 2
    assert (tmp_path / "out.jsonl").read_text() == "precious\n"
    assert not list(tmp_path.glob("*.partial"))


def test_what_was_done_before_a_failure_is_kept_and_named(engine: Engine, tmp_path: Path) -> None:
    class Dying(Reader):
        async def entail(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
            if self.asked > 200:
                raise ModelUnavailable("the server is down", fix="start it")
            return await super().entail(pairs)

    engine.reader = Dying()
    (tmp_path / "out.jsonl").write_text("old\n")
    file = pairs_file(tmp_path, [pair(number, "Why.", "x") for number in range(600)])
    result = call("--pairs", file, "--out", "out.jsonl")
    assert result.exit_code == 7
    assert "the server is down; what was done before is in out.jsonl.partial" in result.stderr
    assert (tmp_path / "out.jsonl").read_text() == "old\n"
    assert len((tmp_path / "out.jsonl.partial").read_text().splitlines()) == 256


def test_a_file_is_replaced_whole_through_a_link_and_a_device_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "real.txt").chmod(0o640)
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with replacing(tmp_path / "link.txt") as stream:
        stream.write("new")
        stream.flush()
        assert (tmp_path / "real.txt").read_text() == "old"
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    assert (tmp_path / "real.txt").stat().st_mode & 0o777 == 0o640
    with replacing(Path(os.devnull)) as stream:
        stream.write("gone")
    assert not Path(os.devnull).is_file()
    told: list[str] = []
    stopping = replacing(tmp_path / "link.txt", told.append)
    stopping.__enter__().write("half")
    assert not stopping.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)  # it goes on
    assert told == [f"what was done before is in {tmp_path.resolve() / 'real.txt.partial'}"]
    assert (tmp_path / "real.txt.partial").read_text() == "half"
    with pytest.raises(ConfigError), replacing(tmp_path / "no" / "file"):
        pass


# ── what a score is ──────────────────────────────────────────────────────────────────────────────


def test_the_score_is_named_and_that_of_a_contradicted_claim_is_support(
    engine: Engine, reader: Reader, tmp_path: Path
) -> None:
    reader.against = {"The lamp burns no rape oil."}
    result = check("The lamp burns rape oil [1]. The lamp burns no rape oil [1].", "--html", "r.html")
    assert "    supported, score 0.90: the cited passage says so" in result.stdout
    assert "    contradicted, support 0.00: " in result.stdout
    page = (tmp_path / "r.html").read_text()
    assert "<small>score 0.90</small>" in page
    assert "<small>support 0.00</small>" in page
    assert "from the threshold 0.50 on a claim counts as supported" in page
    assert "probability" not in page
    assert checked("The lamp burns rape oil [1].")["threshold"] == 0.5


# ── a judge that is missing ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reader: Reader) -> FakeEngine:
    made = FakeEngine()
    made.judge = reader
    built = Engine(reader)
    monkeypatch.setattr(running, "open_engine", made.opened_with)
    monkeypatch.setattr(verify_pairs, "build", built.opened_with)
    monkeypatch.chdir(tmp_path)
    return made


def test_ask_without_a_judge_is_an_error_and_not_an_abstention(asked: FakeEngine, reader: Reader) -> None:
    reader.fails = ModelUnavailable("model.onnx is missing", fix="reinstall the package")
    result = CliRunner().invoke(app, ["ask", "When was the bridge opened?"])
    assert result.exit_code == 7
    assert "I don't know" not in result.stdout
    assert "→ reinstall the package" in result.stderr


def test_ask_with_a_judge_that_stumbled_once_or_declines_is_an_abstention(asked: FakeEngine, reader: Reader) -> None:
    reader.declines = lambda _: "it reads English only"  # type: ignore[method-assign]
    assert CliRunner().invoke(app, ["ask", "When was the bridge opened?"]).exit_code == 20


def test_doctor_tells_of_the_judge(asked: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CrossEncoder, "verify_weights", lambda _: {})
    assert "✓ judge: local, weights as built (SHA-256)" in CliRunner().invoke(app, ["doctor"]).stdout

    def missing(_: CrossEncoder) -> None:
        raise ModelUnavailable("model.onnx is missing", fix="reinstall the package")

    monkeypatch.setattr(CrossEncoder, "verify_weights", missing)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 12
    assert "✗ judge: model.onnx is missing\n  → reinstall the package" in result.stdout
    other = CliRunner().invoke(app, ["doctor", "--set", "verify.judge=verbatim"])
    assert other.exit_code == 0
    assert "✓ judge: verbatim is set in verify.judge" in other.stdout


# ── conflicts ────────────────────────────────────────────────────────────────────────────────────


def side(document: str, start: int, text: str = "It has five arches.") -> Evidence:
    return Evidence(text, Citation(1, f"{document}:0", document, "Bridges", "/b.md", Span(start, start + 9)))


def test_a_conflict_is_told_once_whichever_claim_found_it() -> None:
    one, other, third = side("d1", 0), side("d2", 0), side("d2", 40)
    found = (Conflict("a", one, other), Conflict("b", other, one), Conflict("a", one, third))
    assert distinct(found) == (found[0], found[2])


def test_conflicts_are_counted_and_fail_only_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    claim = Claim("It has arches.", Span(0, 14), (), Verdict(Label.SUPPORTED, 0.9, side("d1", 0), cited=True))
    conflicts = (Conflict("a", side("d1", 0), side("d2", 0)), Conflict("b", side("d1", 20), side("d2", 0)))
    told = Audit("a.md", "It has arches.", (claim,), conflicts=conflicts)
    assert told.passed
    assert told.summary == "1 of 1 claim supported, 2 conflicts between sources"
    failed = replace(told, rules=Rules(fail_on_conflict=True), conflicts=conflicts[:1])
    assert not failed.passed
    show_audit(View(), failed)
    assert (
        "1 of 1 claim supported, 1 conflict between sources; sources that disagree fail it" in capsys.readouterr().out
    )
    assert "1 conflict between sources. <b>Sources that disagree fail it.</b>" in render_page(failed)
    said = json.dumps(to_json(failed))
    assert '"fail_on_conflict": true' in said
    assert '"conflicts": 1' in said


def test_sources_that_disagree_decide_the_exit_code_on_request(engine: Engine, tmp_path: Path) -> None:
    class Torn(Reader):
        def _one(self, premise: str, claim: str) -> Entailment:
            against = "whale" in premise and "rape" not in premise
            return Entailment(0.01, 0.04, 0.95) if against else super()._one(premise, claim)

    engine.reader = Torn()
    (tmp_path / "other.md").write_text("The lamp burns whale oil.\n")
    arguments = ("-", "--sources", "light.md", "other.md")
    told = call(*arguments, stdin="The lamp burns rape oil [1].")
    assert (told.exit_code, told.stdout.splitlines()[-1]) == (
        0, "1 of 1 claim supported, 1 conflict between sources",
    )  # fmt: skip
    assert call(*arguments, "--fail-on-conflict", stdin="The lamp burns rape oil [1].").exit_code == 1


# ── quoted evidence ──────────────────────────────────────────────────────────────────────────────


def test_evidence_is_shown_on_one_line_without_heading_marks() -> None:
    assert on_one_line("## The light ##\n\nIt was lit\nin 1871.  C# is a language.") == (
        "The light It was lit in 1871. C# is a language."
    )
    text = "# Old\n\nThe bridge is\nold."
    passage = Passage("p", "d", text, Span(0, len(text)))
    at = Citation(1, "p", "d", "T", "/a.md", Span(0, len(text)))
    claim = Claim("x", Span(0, 1), (), Verdict(Label.SUPPORTED, 0.9, Evidence(text, at)))
    audit = Audit("a", "x", (claim,), passages={"p": passage})
    assert "<mark>Old The bridge is old.</mark>" in render_page(audit)
    assert to_json(audit)["claims"][0]["evidence"]["text"] == text  # type: ignore[index,call-overload]


def test_long_evidence_ends_at_a_sentence_near_four_hundred_characters() -> None:
    long = "The harbour log of that day names no ship. " * 40
    cut = shorten(long)
    assert cut.endswith("names no ship. …")
    assert 350 < len(cut) < 450
    assert shorten("word " * 200).endswith("word …")
    assert len(shorten("x" * 5000)) == 402
    assert shorten("Short.") == "Short."


# ── the rest ─────────────────────────────────────────────────────────────────────────────────────


def test_findings_of_pairs_speak_of_the_premise(engine: Engine, tmp_path: Path) -> None:
    (row,) = rows_of(call("--pairs", pairs_file(tmp_path, [pair("a", "The light was first lit in 1987.")])))
    assert any("is not in the premise" in finding for finding in row["findings"])
    assert not any("cited" in finding for finding in row["findings"])


@pytest.mark.parametrize("risk", ["nan", "0", "1", "-0.1", "2"])
def test_a_risk_that_is_no_share_is_refused_in_one_sentence(engine: Engine, risk: str) -> None:
    for arguments in (["answer.md", "--sources", "light.md"], ["--pairs", "p.jsonl"]):
        result = call(*arguments, f"--risk={risk}")
        assert result.exit_code == 2
        assert f"--risk {float(risk):g} is no share of wrong claims" in result.stderr
        assert "→ a number between 0 and 1, such as 0.05" in result.stderr
    assert call("answer.md", "--sources", "light.md", "--min-score", "nan").exit_code == 2


def test_a_binary_text_is_refused_with_what_to_give_instead(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(bytes(range(256)) * 40)
    result = call("b.txt", "--sources", "light.md")
    assert "→ give a text, Markdown, HTML, PDF or DOCX file" in result.stderr


def test_no_text_is_refused_by_the_engine(tmp_path: Path) -> None:
    with RealEngine(tmp_path / "kb") as real, pytest.raises(InputRefused, match="not NoneType"):
        real.verify(None)  # type: ignore[arg-type]


def test_build_is_public_and_the_threshold_is_that_in_use(tmp_path: Path) -> None:
    import veridical
    from veridical import build
    from veridical.engine import build as made_by

    assert veridical.build is build is made_by
    with RealEngine(tmp_path / "kb", verify__threshold=0.6) as real:
        assert real.threshold == 0.6
    with RealEngine(tmp_path / "kb", verify__judge="verbatim") as real:
        assert real.threshold == 1.0


def test_what_asks_or_announces_makes_no_claim() -> None:
    content = (
        "Here are the findings:\n\nThe lamp burns rape oil.[^1] Is that so?\n\n"
        "| item | value |\n|---|---|\n| lamp | oil |\n\nAcme was founded in 1987:\n\n[^1]: light.md\n"
    )
    text = part_text("answer.md", content, lambda _name: False)
    assert text.kinds == {"lead-in": 1, "footnote": 2, "question": 1, "table header": 1}
    for kept in ("The lamp burns rape oil.", "| lamp | oil |", "Acme was founded in 1987:"):
        assert kept in text.checkable
    assert len(text.checkable) == len(content)
