"""`verify`: any text checked sentence by sentence, against sources or the index; also pairs, and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from veridical.cli import exits
from veridical.cli.options import Where
from veridical.cli.running import Run, add_command
from veridical.cli.verify_arguments import SourcesFollow, check_risk, check_score, check_target, part_names
from veridical.errors import ConfigError, IndexMissing, InputRefused
from veridical.types import Draft, Json

if TYPE_CHECKING:
    from veridical.blocking import Engine
    from veridical.cli.verify_others import Others
    from veridical.cli.verify_text import Text
    from veridical.ingest import Report
    from veridical.report import Audit
    from veridical.settings import ReadSettings, Settings

PANEL = "The work"
FAILED = 1  # a claim fails
_EXAMPLE = "veridical verify answer.md --sources reports/ --html report.html"
_PASSING, _MANY, _HOW = "When it passes", "Many at once", "How"


def register(app: typer.Typer) -> None:
    add_command(app, verify, example=_EXAMPLE, panel=PANEL)
    app.registered_commands[-1].cls = SourcesFollow


@dataclass(frozen=True, slots=True)
class Against:
    """What a text is checked against, and how."""

    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--sources", metavar="PATH|URL", help="What to check against, not the index: files, folders, pages."
        ),
    ] = None
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a page to read.")] = None
    k: Annotated[
        int | None, typer.Option("-k", min=1, metavar="N", help="Passages read for a claim.", rich_help_panel=_HOW)
    ] = None
    judge: Annotated[
        str | None,
        typer.Option("--judge", metavar="SPEC", help="local, llm, hf:NAME or verbatim.", rich_help_panel=_HOW),
    ] = None
    risk: Annotated[
        float | None,
        typer.Option(
            "--risk",
            metavar="SHARE",
            help="Wrong claims accepted, by calibration.",
            rich_help_panel=_HOW,
        ),
    ] = None

    def flags(self) -> dict[str, Json]:
        return {"search.k": self.k, "verify.judge": self.judge, "verify.risk": self.risk}


@dataclass(frozen=True, slots=True)
class Passing:
    """When a text fails, beside a claim being contradicted."""

    min_score: Annotated[
        float,
        typer.Option(
            "--min-score",
            min=0.0,
            max=1.0,
            metavar="SHARE",
            help="Supported, but below it: fails.",
            rich_help_panel=_PASSING,
        ),
    ] = 0.0
    allow_unverified: Annotated[
        bool, typer.Option("--allow-unverified", help="Unverified claims pass.", rich_help_panel=_PASSING)
    ] = False
    strict_citations: Annotated[
        bool,
        typer.Option(
            "--strict-citations", help="Supported, but not by what it cites: fails.", rich_help_panel=_PASSING
        ),
    ] = False
    fail_on_conflict: Annotated[
        bool, typer.Option("--fail-on-conflict", help="Sources that disagree: fails.", rich_help_panel=_PASSING)
    ] = False


@dataclass(frozen=True, slots=True)
class Many:
    """Pairs instead of a text."""

    pairs: Annotated[
        str | None,
        typer.Option(
            "--pairs",
            metavar="FILE",
            help="JSON Lines with id, premise, hypothesis; - is stdin.",
            rich_help_panel=_MANY,
        ),
    ] = None
    checks: Annotated[
        bool,
        typer.Option(
            "--checks/--no-checks",
            help="With --pairs: numbers, names… that the premise does not hold lower the score.",
            rich_help_panel=_MANY,
        ),
    ] = True
    calibrate: Annotated[
        str | None,
        typer.Option(
            "--calibrate", metavar="FILE", help="JSON Lines with premise, hypothesis, supported.", rich_help_panel=_MANY
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where --pairs and --calibrate write.", rich_help_panel=_MANY),
    ] = None


def verify(
    run: Run,
    where: Where,
    against: Against,
    passing: Passing,
    many: Many,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT]", help="The text: a file before --sources, or stdin. Names behind --sources are sources."
        ),
    ] = None,
) -> int:
    """Check every sentence of a text against sources, or against the index.

    ✓ supported, ✗ contradicted, ? unverified. Exit code 0: every claim passes; 1: a claim fails.
    The text itself is never a source. Without a text before --sources it is read from stdin.
    """
    if many != Many():
        return _many(run, against, many, texts)
    check_score(passing.min_score)
    check_risk(against.risk)
    text, sources = part_names(texts or [], against.sources or [])
    if against.html is not None:
        check_target("--html", against.html, [*([text] if text else []), *sources])
    settings = run.load(against.flags()).settings
    name, content = _read(text, settings.read)
    from veridical.cli.answering import explain_unchecked
    from veridical.cli.verify_others import Others
    from veridical.cli.verify_sources import opened

    path = Path(text) if text not in (None, "-") else None
    try:
        with opened(run, sources, against.flags()) as (engine, report):
            others = Others(engine, content, path)
            found = _Checked(run, others, where, sources, report).audit(name, passing)
    except IndexMissing as error:
        raise IndexMissing(error.message, fix=f"name what to check against: --sources FOLDER; or {error.fix}") from None
    explain_unchecked(settings, found.claims)
    _present(run, found, against.html)
    return exits.OK if found.passed else FAILED


def _read(text: str | None, read: ReadSettings) -> tuple[str, str]:
    from veridical.cli.verify_text import read_content

    try:
        return read_content(text, read)
    except InputRefused as error:
        if "looks binary" in error.message:  # the reader's own fix is for a source, which may be left out
            raise InputRefused(error.message, fix="give a text, Markdown, HTML, PDF or DOCX file") from None
        raise


def _many(run: Run, against: Against, many: Many, texts: Sequence[str] | None) -> int:
    if texts or against.sources or against.html or (many.pairs and many.calibrate):
        raise ConfigError("a text, --pairs and --calibrate exclude each other", fix="give one of them")
    if not many.pairs and not many.calibrate:
        raise ConfigError("--out belongs to --pairs or --calibrate", fix="give --pairs FILE as well")
    check_risk(against.risk)
    if many.out is not None:
        check_target("--out", many.out, [str(many.pairs or many.calibrate)])
    if many.calibrate:
        if not many.checks:
            raise ConfigError("--calibrate always counts the checks, as a text does", fix="leave out --no-checks")
        if many.out is None:
            raise ConfigError("--calibrate needs --out", fix="--calibrate labelled.jsonl --out calibration.json")
        from veridical.cli.verify_calibrate import calibrate

        settings = run.load({"verify.judge": against.judge}).settings  # --risk needs what is only made here
        return calibrate(run, settings, many.calibrate, many.out, against.risk)
    from veridical.cli.verify_pairs import check_pairs

    return check_pairs(run, run.load(against.flags()).settings, str(many.pairs), many.out, checks=many.checks)


@dataclass(frozen=True, slots=True)
class _Checked:
    """One text on its way to an audit."""

    run: Run
    others: Others  # the engine, which leaves out the text itself
    where: Where
    sources: Sequence[str]
    report: Report | None

    def audit(self, name: str, passing: Passing) -> Audit:
        from veridical.cli.progress import counted
        from veridical.cli.verify_claims import Checking
        from veridical.cli.verify_sources import Names, listed_order
        from veridical.cli.verify_text import part_text
        from veridical.report import Audit, Rules, distinct
        from veridical.text.claims import find_claims
        from veridical.text.marks import parse_marks

        engine, content = cast("Engine", self.others), self.others.content
        if self.report is not None:
            self.others.check_any()
        settings, names = engine.settings, Names(engine)
        text = part_text(name, content, lambda said: names.find(said) is not None)
        reach = {number: place for number, said in text.references.items() if (place := names.find(said))}
        reach = reach or listed_order(self.sources)
        claims = find_claims(Draft(text.checkable), settings.language)
        if not claims:
            raise InputRefused(
                f"{name} makes no claim that could be checked",
                fix="give a text with at least one sentence outside headings, code and references",
            )
        checking = Checking(engine, reach, self.where.filter(), settings.search.k)
        with counted(self.run.view, "checking", len(claims)) as done:
            claims = checking.check(text.checkable, claims, done)
        marks = parse_marks(text.checkable)
        invalid = tuple(number for number in marks if number not in reach) if reach else ()
        return Audit(
            name=name,
            text=content,
            claims=claims,
            against=self._against(settings),
            judge=settings.verify.judge,
            sources=tuple(checking.sources[number] for number in sorted(checking.sources)),
            passages=checking.passages,
            conflicts=distinct(checking.conflicts),
            skipped=text.skipped,
            invalid_marks=invalid,
            notes=tuple(self._notes(text, invalid, unresolved=bool(marks) and not reach)),
            rules=Rules(
                passing.min_score, passing.allow_unverified, passing.strict_citations, passing.fail_on_conflict
            ),
            threshold=engine.threshold,
        )

    def _against(self, settings: Settings) -> str:
        if self.report is None:
            return f"the index {settings.index}"
        from veridical.cli.render import count

        return ", ".join(self.sources) if len(self.sources) <= 3 else count(self.report.added, "source")

    def _notes(self, text: Text, invalid: Sequence[int], *, unresolved: bool) -> list[str]:
        from veridical.cli.printable import short_path
        from veridical.cli.verify_text import skipped_note
        from veridical.text.marks import format_marks

        notes = [skipped_note(text)] if text.kinds else []
        if unresolved:
            notes.append("the marks of the text name no source here: each claim was checked against what resembles it")
        if invalid:
            notes.append(f"marks that name no source: {format_marks(invalid)}")
        if self.others.excluded:
            shown = ", ".join(map(short_path, self.others.excluded))
            notes.append(f"not counted as a source, because it is the text itself: {shown}")
        refused = self.report.refused if self.report is not None else ()
        return notes + [f"not read: {short_path(item.uri)}: {item.reason}" for item in refused]


def _present(run: Run, audit: Audit, html: Path | None) -> None:
    from veridical.report import render_page, to_json

    if html is not None:
        from veridical.cli.replacing import replacing

        page = render_page(audit)
        with replacing(html) as stream:
            stream.write(page)
    if run.view.as_json:
        run.view.json(to_json(audit))
        return
    from veridical.cli.verify_show import show_audit

    show_audit(run.view, audit)
    if html is not None:
        run.view.note(f"page: {html}")
