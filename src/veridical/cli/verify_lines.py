"""JSON Lines with a premise and a hypothesis each, read one by one; a line that cannot be read says why."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NamedTuple, NoReturn, cast

from veridical.errors import InputRefused
from veridical.types import Json

LONGEST_LINE = 64 << 20  # bytes; a line beyond that is no pair
_SLICE_PAIRS, _SLICE_CHARACTERS = 256, 4_000_000  # judged and held in memory at once
_NAMED = 5  # lines named in a message


class Pair(NamedTuple):
    """One line. `error` says why it cannot be judged; `row` is all that it held, for those who want more of it."""

    number: int
    id: Json = None
    premise: str = ""
    hypothesis: str = ""
    error: str = ""
    row: Mapping[str, Json] = MappingProxyType({})


@contextmanager
def opened_lines(file: str) -> Iterator[BinaryIO]:
    """A file of JSON Lines, plain or .gz, or stdin for `-`. Raises InputRefused when it cannot be read."""
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        opened = _open(file)
    except OSError as error:
        raise InputRefused(
            f"{file} cannot be read: {error.strerror}", fix="give a JSON Lines file, or - for stdin"
        ) from None
    with opened as stream:
        try:
            yield stream
        except (EOFError, gzip.BadGzipFile) as error:
            raise InputRefused(f"{file} cannot be read: {error}", fix="copy it again: it is cut short") from None


def _open(file: str) -> BinaryIO:
    if file.endswith(".gz"):
        return cast("BinaryIO", gzip.open(file, "rb"))
    return Path(file).open("rb")


def read_pairs(stream: BinaryIO) -> Iterator[Pair]:
    """The lines in order, blank ones left out."""
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            while line and not line.endswith(b"\n"):
                line = stream.readline(LONGEST_LINE)
            yield Pair(number, error=f"the line is longer than {LONGEST_LINE >> 20} MB")
        elif line.strip():
            yield _parse(number, line)


def _parse(number: int, line: bytes) -> Pair:
    try:
        row = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse)
    except UnicodeDecodeError:
        return Pair(number, error="the line is not UTF-8")
    except (ValueError, RecursionError) as error:
        return Pair(number, error=f"the line is not JSON: {error}")
    if not isinstance(row, dict):
        return Pair(number, error="the line is not a JSON object")
    for name in ("premise", "hypothesis"):
        if not isinstance(row.get(name), str):
            return Pair(number, row.get("id"), error=f"{name} is {'no text' if name in row else 'missing'}", row=row)
    return Pair(number, row.get("id"), row["premise"], row["hypothesis"], row=row)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def slices(pairs: Iterator[Pair]) -> Iterator[list[Pair]]:
    """Portions that fit into memory whatever their premises weigh."""
    portion: list[Pair] = []
    size = 0
    for pair in pairs:
        portion.append(pair)
        size += len(pair.premise) + len(pair.hypothesis)
        if len(portion) >= _SLICE_PAIRS or size >= _SLICE_CHARACTERS:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def name_lines(numbers: list[int], many: int) -> str:
    """`3, 7, 8 and 12 more`: the first few of `many`."""
    shown = numbers[:_NAMED]
    return ", ".join(map(str, shown)) + (f" and {many - len(shown):,} more" if many > len(shown) else "")


def shown_name(file: str) -> str:
    return "standard input" if file == "-" else file
