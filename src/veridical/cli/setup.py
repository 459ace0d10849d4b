"""The commands of the set-up: config show, version; `doctor` and `demo` have files of their own."""

from __future__ import annotations

import typer

from veridical.cli import exits
from veridical.cli.demo import demo
from veridical.cli.doctor import doctor
from veridical.cli.running import Run, add_command

PANEL = "The set-up"


def register(app: typer.Typer) -> None:
    add_command(app, demo, example="veridical demo", panel=PANEL)
    add_command(app, doctor, example="veridical doctor", panel=PANEL)
    add_command(app, version, example="veridical version --json", panel=PANEL)


def register_config(app: typer.Typer) -> None:
    add_command(app, show, example="veridical config show --set search.k=8")


def show(run: Run) -> int:
    """Show every setting, its value and where it came from: a flag, the environment, a file or the default."""
    rows = list(run.load().rows())
    if run.view.as_json:
        run.view.json({row.key: {"value": row.value, "origin": row.origin, "meaning": row.meaning} for row in rows})
    else:
        run.view.table(
            ("setting", "value", "origin", "meaning"),
            [(row.key, "–" if row.value in (None, "") else str(row.value), row.origin, row.meaning) for row in rows],
        )
    return exits.OK


def version(run: Run) -> int:
    """Say which version this is."""
    from veridical import __version__

    if run.view.as_json:
        run.view.json({"version": __version__})
    else:
        run.view.line(f"veridical {__version__}")
    return exits.OK
