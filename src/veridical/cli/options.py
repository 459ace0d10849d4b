"""Groups of options that several commands share, each with what it stands for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Annotated

import typer

from veridical.errors import ConfigError
from veridical.types import Filter, Json

_WHERE = "Which documents"
_HOW = "How"


class Mode(StrEnum):
    HYBRID = "hybrid"
    LEXICAL = "lexical"
    DENSE = "dense"


@dataclass(frozen=True, slots=True)
class Where:
    """Restricts a command to some of the documents."""

    path: Annotated[
        str | None, typer.Option("--path", metavar="GLOB", help="Path or URL, or a folder.", rich_help_panel=_WHERE)
    ] = None
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type", metavar="TYPE", help="pdf, html, text/markdown …; any of those given.", rich_help_panel=_WHERE
        ),
    ] = None
    after: Annotated[
        str | None, typer.Option("--after", metavar="DATE", help="Dated this day or later.", rich_help_panel=_WHERE)
    ] = None
    before: Annotated[
        str | None, typer.Option("--before", metavar="DATE", help="Dated this day or earlier.", rich_help_panel=_WHERE)
    ] = None
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help="Tagged so; all of those given.", rich_help_panel=_WHERE),
    ] = None

    def filter(self) -> Filter | None:
        """None when nothing was asked. Raises ConfigError when a date cannot be read."""
        types = tuple(name.removeprefix(".").lower() for name in self.type_ or ())
        asked = Filter(self.path, types, _day(self.after), _day(self.before), tuple(self.tag or ()))
        return asked or None


@dataclass(frozen=True, slots=True)
class Writing:
    """How an answer comes about."""

    llm: Annotated[
        str | None,
        typer.Option("--llm", metavar="SPEC", help="quote, smollm2, a GGUF file, openai:MODEL.", rich_help_panel=_HOW),
    ] = None
    method: Annotated[
        str | None, typer.Option("--method", metavar="NAME", help="See `veridical methods`.", rich_help_panel=_HOW)
    ] = None
    k: Annotated[
        int | None, typer.Option("-k", min=1, metavar="N", help="Passages to answer from.", rich_help_panel=_HOW)
    ] = None

    def flags(self) -> dict[str, Json]:
        return {"llm": self.llm, "method": self.method, "search.k": self.k}


def read_text(argument: str) -> str:
    """The argument itself, or all of stdin for `-`."""
    return sys.stdin.read() if argument == "-" else argument


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"{text} is not a date", fix="write it as 2024-03-31") from None
