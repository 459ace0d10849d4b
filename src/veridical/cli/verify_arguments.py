"""What the names on the command line of `verify` mean, and that nothing that is read is written over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import typer
from typer.core import TyperCommand

from veridical.errors import ConfigError, InputRefused

_SOURCES_BEGIN = "\0--sources"  # no name holds a NUL


class SourcesFollow(TyperCommand):
    """Keeps apart what stands before --sources and what a shell spreads behind it; the parser alone joins them."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        options = args[: args.index("--")] if "--" in args else args
        for place, said in enumerate(options):
            if said.partition("=")[0] == "--sources":
                args = [*args[:place], _SOURCES_BEGIN, *args[place:]]
                break
        return super().parse_args(ctx, args)


def part_names(names: Sequence[str], sources: Sequence[str]) -> tuple[str | None, list[str]]:
    """The text (None: stdin) and the sources: names before --sources are texts, those behind it sources."""
    begin = names.index(_SOURCES_BEGIN) if _SOURCES_BEGIN in names else len(names)
    texts, more = list(names[:begin]), list(names[begin + 1 :])
    if any(not name.strip() for name in (*texts, *sources, *more)):
        raise InputRefused("an empty name was given", fix="check the variable or quote it came from")
    if len(texts) > 1:
        raise ConfigError(
            f"one text at a time, not {len(texts)}: {', '.join(texts[:3])}",
            fix="the text first, then its sources: TEXT --sources A B C",
        )
    if more and len(sources) > 1:
        raise ConfigError(
            "sources with and without --sources", fix="name all behind one --sources, or each behind its own"
        )
    return (texts[0] if texts else None), [*sources, *more]


def check_risk(risk: float | None) -> None:
    """Raises ConfigError for what is no share strictly between 0 and 1, such as nan."""
    if risk is not None and not 0.0 < risk < 1.0:
        raise ConfigError(f"--risk {risk:g} is no share of wrong claims", fix="a number between 0 and 1, such as 0.05")


def check_score(score: float) -> None:
    if math.isnan(score):
        raise ConfigError("--min-score nan is no score", fix="a number from 0 to 1")


def check_target(flag: str, file: Path, inputs: Sequence[str]) -> None:
    """Raises ConfigError when `file` cannot be written, or is one of the files and folders that are read."""
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise ConfigError(f"{flag} {file} cannot be written", fix="name a file in a folder that exists")
    for name in inputs:
        if name == "-" or "://" in name:
            continue
        path = Path(name)
        if _is_same(file, path):
            raise ConfigError(f"{flag} {file} is also an input, which it would overwrite", fix="name another file")
        # A page of an earlier run repeats every claim, so as a source it would carry them all.
        if path.is_dir() and file.exists() and file.resolve().is_relative_to(path.resolve()):
            raise ConfigError(
                f"{flag} {file} exists and lies in the source {name}, so it would be read and overwritten",
                fix="name a file outside of the sources, or remove it first",
            )


def _is_same(one: Path, other: Path) -> bool:
    """By name or by a link of either kind."""
    try:
        return one.resolve() == other.resolve() or one.samefile(other)
    except OSError:  # one of them does not exist
        return False
