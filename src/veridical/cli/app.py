"""The tree of commands. Each command's own file loads what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from veridical.cli import collection, exits, models, setup, verify, work

_TOLD = (0, 2, 3, 7, 11, 12, 20, 130)  # the rest stands in the reference


def _epilog() -> str:
    codes = "  ".join(f"{code} {_short(code)}" for code in _TOLD)
    return f"Exit codes: {codes}. All of them: docs/reference/exit-codes.md"


def _short(code: int) -> str:
    return {
        exits.OK: "done",
        2: "bad input",
        3: "no index",
        7: "no model",
        exits.ALL_REFUSED: "all refused",
        exits.NOT_USABLE: "not usable",
        exits.ABSTAINED: "no answer found",
        exits.INTERRUPTED: "stopped",
    }[code]


def make_app() -> typer.Typer:
    app = typer.Typer(
        name="veridical",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=_epilog(),
    )
    app.callback()(_top)
    work.register(app)
    verify.register(app)
    collection.register(app)
    model = typer.Typer(no_args_is_help=True, help="Models: list, pull, remove, test.", rich_markup_mode="rich")
    models.register(model)
    config = typer.Typer(no_args_is_help=True, help="The settings.", rich_markup_mode="rich")
    # With one command Typer would drop its name; a callback keeps `config show`.
    config.callback()(_settings)
    setup.register_config(config)
    setup.register(app)
    app.add_typer(model, name="model", rich_help_panel=setup.PANEL)
    app.add_typer(config, name="config", rich_help_panel=setup.PANEL)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        from veridical import __version__

        typer.echo(f"veridical {__version__}")
        raise typer.Exit


def _top(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Question answering over your own documents, every sentence checked against the passage it cites."""


def _settings() -> None:
    """The settings: flags over environment over veridical.toml over defaults."""


app = make_app()
