"""`search`: the passages that resemble a query, or a TREC run for a file of queries."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from veridical.cli import exits
from veridical.cli.options import Mode, Where, read_text
from veridical.cli.running import Run
from veridical.errors import ConfigError, InputRefused
from veridical.types import Json

_RUN_K = 100  # documents a query in a TREC run, as is usual


@dataclass(frozen=True, slots=True)
class Batch:
    """A file of queries and the run to write for it."""

    queries: Annotated[
        Path | None, typer.Option("--queries", metavar="FILE", help="BEIR queries (_id, text), plain or .gz.")
    ] = None
    run_file: Annotated[
        Path | None, typer.Option("--run", metavar="FILE", help="TREC run to write, with --queries.")
    ] = None


def search(
    run: Run,
    where: Where,
    batch: Batch,
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help="What to look for; - reads stdin.")] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, metavar="N", help="How many passages; with --queries, documents.")
    ] = None,
    mode: Annotated[Mode | None, typer.Option("--mode", metavar="MODE", help="hybrid, lexical or dense.")] = None,
) -> int:
    """Find the passages that resemble a query, best first; or answer a file of queries with a TREC run."""
    flags: dict[str, Json] = {"search.mode": mode.value if mode else None}
    if batch != Batch():
        if query is not None:
            raise ConfigError("a query and --queries together", fix="give one of them")
        return _write_run(run, batch, where, k or _RUN_K, flags)
    if query is None:
        raise InputRefused("nothing to search for", fix="give a query: veridical search 'harbour dues'")
    text = read_text(query)
    with run.engine(flags) as engine:
        found = engine.search(text, k, where.filter())
    if run.view.as_json:
        from veridical.serial import passage_to_dict

        run.view.json([passage_to_dict(passage) for passage in found])
        return exits.OK
    from veridical.cli.render import show_passages

    show_passages(run.view, found, text)
    if not found:
        run.view.line("nothing resembles that", "dim")
    return exits.OK


def _write_run(run: Run, batch: Batch, where: Where, k: int, flags: dict[str, Json]) -> int:
    from veridical.cli.progress import counted
    from veridical.cli.render import count
    from veridical.cli.trec import read_queries, run_lines, write_run

    if batch.queries is None or batch.run_file is None:
        raise ConfigError("--queries and --run belong together", fix="--queries queries.jsonl --run out.trec")
    queries = read_queries(batch.queries)
    with run.engine(flags) as engine, counted(run.view, "searching", len(queries)) as done:
        lines = write_run(batch.run_file, run_lines(engine, queries, k, where.filter()), done)
    if run.view.as_json:
        run.view.json({"queries": len(queries), "lines": lines, "run": str(batch.run_file)})
    elif not run.view.quiet:
        run.view.line(
            f"{count(len(queries), 'query').replace('querys', 'queries')}, {count(lines, 'line')} → {batch.run_file}"
        )
    return exits.OK
