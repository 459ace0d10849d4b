"""The commands that keep the collection: add, sync, rm, ls, status, rebuild, open."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.cli import exits
from veridical.cli.options import Where
from veridical.cli.running import Run, add_command
from veridical.errors import ConfigError, InputRefused
from veridical.types import Document, Filter, Span

if TYPE_CHECKING:
    from veridical.blocking import Engine
    from veridical.index.records import Problem, Stats
    from veridical.ingest import Report

PANEL = "The collection"


def register(app: typer.Typer) -> None:
    add_command(app, add, example="veridical add reports/ https://example.org/page.html --tag 2024", panel=PANEL)
    add_command(app, sync, example="veridical sync reports/", panel=PANEL)
    add_command(app, rm, example="veridical rm reports/old.pdf", panel=PANEL)
    add_command(app, ls, example="veridical ls --type pdf --tag 2024", panel=PANEL)
    add_command(app, open_document, name="open", example="veridical open 3f2a90c1d4e5b687 --span 120-310", panel=PANEL)
    add_command(app, status, example="veridical status --check", panel=PANEL)
    add_command(app, rebuild, example="veridical rebuild", panel=PANEL)


def add(
    run: Run,
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH|URL…", help="Files, folders and URLs.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Tag what is added.")] = None,
    beir: Annotated[
        Path | None, typer.Option("--beir", metavar="FILE", help="A BEIR corpus.jsonl; its ids are kept.")
    ] = None,
) -> int:
    """Add files, folders and web pages; what is unchanged is skipped, what changed is replaced."""
    if not paths and beir is None:
        raise InputRefused("nothing to add", fix="name files, folders or URLs: veridical add FOLDER")
    if paths and beir is not None:
        raise ConfigError("--beir and paths together", fix="add the BEIR corpus in a command of its own")
    from veridical.cli.progress import ingest_progress

    with run.engine() as engine, ingest_progress(run.view) as on_progress:
        if beir is not None:
            report = engine.add_beir(beir, on_progress)
        else:
            report = engine.add(*(paths or ()), tags=tuple(tag or ()), on_progress=on_progress)
    code = _show_report(run, report)
    if code == exits.OK and not run.view.quiet and report.documents:
        run.view.note(f"now ask: veridical ask 'your question'{run.again}")
    return code


def sync(
    run: Run,
    paths: Annotated[list[str] | None, typer.Argument(metavar="[PATH…]", help="Default: all that was added.")] = None,
) -> int:
    """Bring the collection up to date: add what is new, replace what changed, remove what vanished."""
    from veridical.cli.progress import ingest_progress

    with run.engine() as engine, ingest_progress(run.view) as on_progress:
        report = engine.sync(*(paths or ()), on_progress=on_progress)
    return _show_report(run, report)


def rebuild(run: Run) -> int:
    """Cut and embed again what an older version made, and derive the search indexes anew."""
    from veridical.cli.progress import ingest_progress

    with run.engine() as engine, ingest_progress(run.view) as on_progress:
        report = engine.rebuild(on_progress)
    return _show_report(run, report)


def _show_report(run: Run, report: Report) -> int:
    from veridical.cli.render import show_report

    if run.view.as_json:
        run.view.json(report)
    else:
        show_report(run.view, report)
    kept = report.added + report.updated + report.unchanged + report.removed
    return exits.ALL_REFUSED if report.refused and not kept else exits.OK


def rm(
    run: Run,
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Paths, folders, URLs or document ids.")],
) -> int:
    """Forget documents by path, folder, URL or id. The files themselves are not touched."""
    from veridical.cli.render import count

    with run.engine() as engine:
        removed = engine.remove(*names)
    if not removed:
        raise InputRefused(f"nothing in the collection is called {', '.join(names)}", fix="`veridical ls` lists it")
    if run.view.as_json:
        run.view.json({"removed": removed})
    elif not run.view.quiet:
        run.view.line(f"removed {count(removed, 'document')}")
    return exits.OK


def ls(
    run: Run,
    where: Where,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="At most so many documents.")] = 100,
) -> int:
    """List the documents: id, title, type, date, passages, path."""
    from rich.text import Text

    from veridical.cli.printable import one_line, short_path
    from veridical.cli.render import count

    with run.engine() as engine:
        listed = engine.documents(where.filter(), n + 1)
    shown = listed[:n]
    if run.view.as_json:
        run.view.json(shown)
        return exits.OK
    if run.view.fancy:
        for row in shown:
            facts = (_kind(row.media_type), str(row.date or ""), count(row.passages, "passage"), short_path(row.uri))
            run.view.hang(Text(f"{row.id}  ", style="cyan"), one_line(row.title))
            run.view.hang(" " * (len(row.id) + 2), " · ".join(fact for fact in facts if fact), "dim")
    else:
        rows = [
            (row.id, row.title, _kind(row.media_type), str(row.date or ""), str(row.passages), short_path(row.uri))
            for row in shown
        ]
        run.view.table(("id", "title", "type", "date", "passages", "path"), rows)
    if len(listed) > n:
        run.view.note(f"the first {n:,}; -n shows more")
    return exits.OK


def _kind(media_type: str) -> str:
    """The short name people use; office types have very long ones."""
    known = {"wordprocessingml.document": "docx", "presentationml.presentation": "pptx", "spreadsheetml.sheet": "xlsx"}
    last = media_type.rpartition("/")[2].removeprefix("vnd.openxmlformats-officedocument.").removeprefix("x-")
    return known.get(last, last)


def open_document(
    run: Run,
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="A document's id, path or URL.")],
    span: Annotated[
        str | None, typer.Option("--span", metavar="START-END", help="Characters to point at in its text.")
    ] = None,
) -> int:
    """Show a document's text where a citation points, with its span marked."""
    from veridical.cli.render import page_at, show_document

    wanted = _span(span) if span is not None else None
    with run.engine() as engine:
        found = engine.document(document) or _by_path(engine, document)
    if wanted is not None and wanted.end > len(found.text):
        raise InputRefused(
            f"{document} has {len(found.text):,} characters, less than {wanted.end:,}", fix="ask again: it has changed"
        )
    if run.view.as_json:
        at = wanted or Span(0, len(found.text))
        page = page_at(found, at.start) if found.pages else None
        where = {"id": found.id, "title": found.title, "uri": found.uri, "page": page, "span": list(at)}
        run.view.json({**where, "text": at.of(found.text)})
    else:
        show_document(run.view, found, wanted)
    return exits.OK


def _by_path(engine: Engine, name: str) -> Document:
    path = Path(name).absolute().as_posix() if "://" not in name else name
    listed = engine.documents(Filter(path=glob.escape(path)), 2) if name.strip() else []
    found = engine.document(listed[0].id) if len(listed) == 1 else None
    if found is None:
        many = "several documents come" if listed else "no document comes"
        raise InputRefused(f"{many} from {name or 'an empty name'}", fix="`veridical ls` lists the ids")
    return found


def _span(text: str) -> Span:
    start, dash, end = text.partition("-")
    if not (dash and start.isdecimal() and end.isdecimal() and int(start) <= int(end)):
        raise ConfigError(f"--span {text} is not a range", fix="write it as START-END, for example --span 120-310")
    return Span(int(start), int(end))


def status(
    run: Run,
    check: Annotated[bool, typer.Option("--check", help="Read everything and compare.")] = False,
) -> int:
    """Say what the index holds and whether it is whole; --check names each problem with its repair."""
    with run.engine() as engine:
        stats, stale = engine.stats(), engine.stale()
        problems = list(engine.check()) if check else []
        folder = engine.settings.index
    if run.view.as_json:
        found: dict[str, object] = {"index": folder, "stats": stats, "stale": stale}
        run.view.json({**found, "problems": problems} if check else found)
    else:
        _show_stats(run, folder, stats)
        if stale:
            embed, chunk = f"{stale.passages_to_embed:,} passages", f"{stale.documents_to_chunk:,} documents"
            run.view.warn(f"made by an older model or chunker: {embed}, {chunk}: veridical rebuild{run.again}")
        if check:
            _show_problems(run, problems)
    return exits.PROBLEMS if problems else exits.OK


def _show_stats(run: Run, folder: str, stats: Stats) -> None:
    from veridical.cli.render import size

    on_disk = dict(stats.bytes_on_disk)
    parts = ", ".join(f"{name} {size(number)}" for name, number in on_disk.items())
    partial = f" ({stats.partial_sources:,} not finished: veridical sync{run.again})" if stats.partial_sources else ""
    rows = [
        ("index", folder),
        ("sources", f"{stats.sources:,}{partial}"),
        ("documents", f"{stats.documents:,}"),
        ("passages", f"{stats.passages:,} ({stats.duplicates:,} near-duplicates)"),
        ("vectors", f"{stats.vectors:,}"),
        ("on disk", f"{size(sum(on_disk.values()))}{f' ({parts})' if parts else ''}"),
        ("embedder", stats.embedder),
        ("chunker", stats.chunker),
    ]
    from rich.text import Text

    for name, value in rows:
        run.view.hang(Text(f"{name:<10} ", style="dim"), value)


def _show_problems(run: Run, problems: list[Problem]) -> None:
    run.view.line()
    if not problems:
        run.view.line("✓ checked: the index is whole")
    for problem in problems:
        run.view.hang("✗ ", problem.what)
        run.view.hang("  → ", problem.fix)
