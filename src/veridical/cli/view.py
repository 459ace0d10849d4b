"""Where a command writes: Rich on a terminal, plain lines in a pipe, one JSON value with --json."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from veridical.cli.printable import one_line
from veridical.types import Json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from veridical.errors import VeridicalError

_PROSE = 96  # columns; longer lines are hard to read
_UNWRAPPED = 100_000  # columns of a pipe, which has none


class View:
    """`out` takes the result, `err` the steps and errors. `fancy` says that a person is looking at a terminal."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.out = _console(sys.stdout)
        self.err = _console(sys.stderr)
        self.fancy = self.out.is_terminal and not self.out.is_dumb_terminal and not as_json

    @property
    def width(self) -> int:
        """Columns of a paragraph."""
        return min(self.out.width, _PROSE)

    # ── the result, on stdout ────────────────────────────────────────────────────────────────────

    def line(self, text: Text | str = "", style: str = "") -> None:
        """One paragraph; nothing with --json. A string is taken literally, never as markup."""
        self.hang("", text, style)

    def hang(self, gutter: Text | str, text: Text | str, style: str = "") -> None:
        """A paragraph whose further lines are indented by the width of its gutter."""
        from rich.text import Text

        if self.as_json:
            return
        lead = Text(gutter) if isinstance(gutter, str) else gutter
        body = Text(text, style=style) if isinstance(text, str) else text
        if not self.fancy:
            self._plain(f"{lead.plain}{body.plain}")
            return
        width = max(20, self.width - lead.cell_len)
        for number, wrapped in enumerate(body.wrap(self.out, width)):
            wrapped.rstrip()
            start = lead if number == 0 else Text(" " * lead.cell_len)
            self.out.print(Text.assemble(start, wrapped), soft_wrap=True)

    def heading(self, text: str) -> None:
        from rich.text import Text

        self.line(Text(text, style="bold"))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Cells are flattened to one line; in a pipe the columns are aligned, on a terminal the last one wraps."""
        if self.as_json:
            return
        cells = [[one_line(cell) for cell in row] for row in rows]
        if self.fancy:
            self.out.print(_rich_table(columns, cells))
            return
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        for row in (columns, *cells):
            self._plain("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))

    def json(self, value: object, *, indent: int | None = 2) -> None:
        text = value if isinstance(value, str) else json.dumps(jsonable(value), ensure_ascii=False, indent=indent)
        self._plain(text)

    def _plain(self, text: str) -> None:
        self.out.file.write(text.rstrip() + "\n")

    # ── steps and errors, on stderr ──────────────────────────────────────────────────────────────

    def note(self, text: str) -> None:
        """A step or a hint: not with --quiet or --json."""
        if not self.quiet and not self.as_json:
            self._aside(text, "dim")

    def warn(self, text: str) -> None:
        self._aside(f"warning: {one_line(text)}", "yellow")

    def error(self, message: str, fix: str) -> None:
        from rich.text import Text

        self.out.file.flush()
        body = Text.assemble(("error: ", "bold red"), one_line(message), "\n", ("  → ", "bold"), one_line(fix))
        self.err.print(body)

    def failure(self, error: VeridicalError) -> int:
        if self.as_json:
            self.json({"error": error.message, "fix": error.fix, "exit_code": error.exit_code}, indent=None)
        else:
            self.error(error.message, error.fix)
        return error.exit_code

    def _aside(self, text: str, style: str) -> None:
        from rich.text import Text

        self.out.file.flush()  # what was said before comes before, wherever both streams end up
        self.err.print(Text(text, style=style))


def jsonable(value: object) -> Json:
    """Dataclasses as objects, everything that JSON does not know as its string."""

    def plain(item: Any) -> Any:
        if is_dataclass(item) and not isinstance(item, type):
            return asdict(item)
        return str(item)

    made: Json = json.loads(json.dumps(value, default=plain, ensure_ascii=False))
    return made


def _console(file: Any) -> Console:
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            # Rich would end the process here; the command has an exit code for it.
            raise BrokenPipeError

    terminal = Quiet(file=file, highlight=False, markup=False, emoji=False)
    if terminal.is_terminal:
        return terminal
    return Quiet(file=file, highlight=False, markup=False, emoji=False, width=_UNWRAPPED, no_color=True)


def _rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, name in enumerate(columns, 1):
        table.add_column(name, no_wrap=number < len(columns), overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
