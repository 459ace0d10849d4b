"""What every command has: the common options, its settings, its engine, and one way to fail.

A command is a function of a `Run`, its own arguments, and groups of options (dataclasses, spread out on the
command line); it returns its exit code.
"""

from __future__ import annotations

import errno
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from veridical.cli import exits
from veridical.cli.view import View
from veridical.errors import ConfigError, StorageFull, VeridicalError
from veridical.types import Json

if TYPE_CHECKING:
    from veridical.blocking import Engine
    from veridical.settings import Loaded, Settings

_EVERYWHERE = "Everywhere"


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command takes."""

    index: Annotated[
        str | None,
        typer.Option("--index", "-i", metavar="FOLDER", help="Folder of the index.", rich_help_panel=_EVERYWHERE),
    ] = None
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON value and nothing else.", rich_help_panel=_EVERYWHERE)
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="The result alone: no steps, no hints.", rich_help_panel=_EVERYWHERE)
    ] = False
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", help="Settings file instead of veridical.toml.", rich_help_panel=_EVERYWHERE
        ),
    ] = None
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Any setting, as often as needed.", rich_help_panel=_EVERYWHERE
        ),
    ] = None
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an unexpected error arose.", rich_help_panel=_EVERYWHERE)
    ] = False


class Run:
    """One run of a command."""

    def __init__(self, common: Common) -> None:
        self.common = common
        self.view = View(as_json=common.as_json, quiet=common.quiet)

    def load(self, flags: Mapping[str, Json] | None = None) -> Loaded:
        """The settings: `flags` (None = not given) and --index win over --set, the environment and the file."""
        from veridical.settings import load

        given: dict[str, Json] = {}
        for pair in self.common.set_ or ():
            key, equals, value = pair.partition("=")
            if not equals:
                raise ConfigError(f"--set {pair} has no =", fix="write it as key=value, for example --set search.k=8")
            given[key.strip()] = value.strip()
        given |= {key: value for key, value in (flags or {}).items() if value is not None}
        if self.common.index is not None:
            given["index"] = self.common.index
        return load(given, file=self.common.config)

    @contextmanager
    def engine(self, flags: Mapping[str, Json] | None = None) -> Iterator[Engine]:
        with open_engine(self.load(flags).settings) as engine:
            yield engine

    @property
    def again(self) -> str:
        """The options that a hint must repeat for its command to reach the same index."""
        from shlex import quote

        return f" -i {quote(self.common.index)}" if self.common.index is not None else ""


def open_engine(settings: Settings) -> Engine:
    from veridical.blocking import Engine

    return Engine(settings=settings)


Command = Callable[..., int]


def add_command(app: typer.Typer, function: Command, *, example: str, name: str = "", panel: str | None = None) -> None:
    """Puts `function` on the command line with the common options and an example; its name is the function's."""
    help_ = inspect.cleandoc(function.__doc__ or "")
    app.command(name or function.__name__, help=help_, epilog=f"Example: {example}", rich_help_panel=panel)(
        _on_command_line(function)
    )


def _on_command_line(function: Command) -> Callable[..., None]:
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type[Any]] = {"common": Common}
    groups |= {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            parameters += _spread(groups[name])
        elif hints[name] is not Run:
            parameters.append(parameter.replace(annotation=hints[name]))
    parameters += _spread(Common)

    def invoke(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)}) for name, kind in groups.items()
        }
        common: Common = made.pop("common")
        raise typer.Exit(_guarded(Run(common), lambda run: function(run, **given, **made)))

    ordered = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    invoke.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    invoke.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
    return invoke


def _spread(kind: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(kind)
    ]


def _guarded(run: Run, work: Callable[[Run], int]) -> int:  # noqa: PLR0911 - one return a way to end
    """The exit code of `work`; every way to fail ends here, with a message and a code."""
    try:
        code = work(run)
        sys.stdout.flush()
    except VeridicalError as error:
        if run.common.debug:
            run.view.note(traceback.format_exc())
        return run.view.failure(error)
    except KeyboardInterrupt:
        run.view.note("stopped")
        return exits.INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout once more at exit; without a reader that would be an error again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.BROKEN_PIPE
    except OSError as error:
        if error.errno == errno.ENOSPC:
            where = error.filename or "standard output"
            return run.view.failure(StorageFull(f"the disk took no more: {where}", fix="free some space"))
        return _unexpected(run, error)
    except Exception as error:  # noqa: BLE001 - the last line of defence: a person sees a sentence, not a traceback
        return _unexpected(run, error)
    return code


def _unexpected(run: Run, error: Exception) -> int:
    message = f"unexpected {type(error).__name__}: {error}"
    fix = "this is a bug in veridical: please report it with the output of the same command with --debug"
    if run.common.debug:
        run.view.err.print(traceback.format_exc(), soft_wrap=True)
    if run.view.as_json:
        run.view.json({"error": message, "fix": fix, "exit_code": exits.UNEXPECTED}, indent=None)
    else:
        run.view.error(message, fix)
    return exits.UNEXPECTED
