"""CSV, TSV and JSON lines: a record a document, streamed, a malformed line reported and passed over."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

from veridical.corpus.read.decode import clean
from veridical.corpus.read.origin import Extract, Origin, tidy_title
from veridical.corpus.read.plain import open_text
from veridical.errors import InputRefused
from veridical.types import Document

_DELIMITERS = ",;\t|"
_LONGEST_LINE = 16_000_000
_TITLE_NAMES = ("title", "name", "subject", "headline")


def read(origin: Origin) -> Iterator[Document]:
    records = _read_json_lines if origin.media_type == "application/jsonl" else _read_table
    found = False
    for document in records(origin):
        found = True
        yield document
    if not found:
        raise InputRefused("holds no record that can be read", fix="Check the file's first lines.")


def beir(path: Path, warn: Callable[[str], None] = lambda _: None) -> Iterator[Document]:
    """The documents of a BEIR corpus (`.jsonl` or `.jsonl.gz`), ids kept as they are.

    A line that cannot be used is reported. Raises InputRefused when none can.
    """
    uri = path.absolute().as_posix()
    seen: set[str] = set()
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                record = _parse(line.decode("utf-8", "replace"), number, warn) if line.strip() else None
                document = _beir_document(record, uri, number, warn) if record is not None else None
                if document is None:
                    continue
                if document.id in seen:
                    warn(f"line {number} repeats the _id {document.id}; the later one counts")
                seen.add(document.id)
                yield document
    except (OSError, EOFError) as error:
        raise InputRefused(
            f"{path} cannot be read: {error}", fix="Point at a BEIR corpus.jsonl or .jsonl.gz."
        ) from error
    if not seen:
        raise InputRefused(f"{path} holds no BEIR document", fix='Its lines look like {"_id": …, "text": …}.')


def _beir_document(record: dict[str, object], uri: str, number: int, warn: Callable[[str], None]) -> Document | None:
    title = tidy_title(str(record.get("title") or ""))
    text = clean(str(record.get("text") or "")) or title
    if "_id" not in record or not text.strip():
        warn(f"line {number} has no {'text' if '_id' in record else '_id'}")
        return None
    key = clean(str(record["_id"])).strip()
    if len(key.split()) > 1:  # a TREC run separates its fields by white space
        warn(f"line {number}: white space in the _id {key!r} was replaced")
        key = "_".join(key.split())
    return Document(key, f"{uri}#{key}", title, text, media_type="application/jsonl")


# ── JSON lines ───────────────────────────────────────────────────────────────────────────────────


def _read_json_lines(origin: Origin) -> Iterator[Document]:
    seen: set[int] = set()
    for number, line in enumerate(_lines(open_text(origin)), start=1):
        record = _parse(line, number, origin.warn) if line.strip() else None
        if record is None:
            continue
        text = _record_text(record)
        if not text:
            origin.warn(f"line {number} holds no text")
            continue
        key = record.get("_id", record.get("id"))
        part = f"row={number}" if key is None else f"id={clean(str(key))}"
        if hash(part) in seen:
            origin.warn(f"line {number} repeats the id {key!r}; it is kept under its line number")
            part = f"row={number}"
        seen.add(hash(part))
        yield origin.document(Extract(text, _record_title(record, f"{origin.stem}, row {number}")), part)


def _parse(line: str, number: int, warn: Callable[[str], None]) -> dict[str, object] | None:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        warn(f"line {number} is not JSON: {error}")
        return None
    if not isinstance(record, dict):
        warn(f"line {number} is not a JSON object")
        return None
    return cast("dict[str, object]", record)


def _record_text(record: dict[str, object]) -> str:
    if isinstance(record.get("text"), str):
        return clean(cast("str", record["text"])).strip()
    return _as_lines((name, _as_text(value)) for name, value in record.items())


def _record_title(record: dict[str, object], otherwise: str) -> str:
    named = {str(name).lower(): value for name, value in record.items()}
    return next((str(named[name]) for name in _TITLE_NAMES if named.get(name)), otherwise)


def _as_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _as_lines(fields: Iterator[tuple[str, str]]) -> str:
    return clean("\n".join(f"{name}: {value.strip()}" for name, value in fields if value.strip()))


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def _read_table(origin: Origin) -> Iterator[Document]:
    lines = (line.replace("\0", "") for line in _lines(open_text(origin)))
    first = next(lines, "")
    tabs = origin.media_type == "text/tab-separated-values"
    delimiter = "\t" if tabs else max(_DELIMITERS, key=first.count)
    header = next(csv.reader([first], delimiter=delimiter), [])
    names = [name.strip() or f"column {number}" for number, name in enumerate(header, start=1)]
    for number, row in _rows(lines, delimiter, origin.warn):
        if len(row) > len(names):
            origin.warn(f"row {number} has {len(row)} fields, the header {len(names)}")
        padded = [*names, *(f"column {n}" for n in range(len(names) + 1, len(row) + 1))]
        record: dict[str, object] = dict(zip(padded, row, strict=False))
        text = _as_lines(zip(padded, row, strict=False))
        if text:
            yield origin.document(Extract(text, _record_title(record, f"{origin.stem}, row {number}")), f"row={number}")


def _rows(lines: Iterator[str], delimiter: str, warn: Callable[[str], None]) -> Iterator[tuple[int, list[str]]]:
    """Rows numbered as a spreadsheet shows them: the header is row 1."""
    rows = csv.reader(lines, delimiter=delimiter)
    number = 1
    while True:
        line = rows.line_num + 2  # the header's line went before
        try:
            row = next(rows, None)
        except csv.Error as error:
            warn(f"lines {line} to {rows.line_num + 1} are not a table's: {error} (a quote that never closes?)")
            continue
        if row is None:
            return
        number += 1
        yield number, row


def _lines(blocks: Iterator[str]) -> Iterator[str]:
    """Lines with their ends; `str.splitlines` would also cut at U+2028 and its like, inside a JSON string."""
    rest = ""
    for block in blocks:
        *whole, rest = (rest + block).split("\n")
        if len(rest) > _LONGEST_LINE:
            raise InputRefused("holds a line of over 16 million characters", fix="Write one record a line.")
        for line in whole:
            yield line + "\n"
    if rest:
        yield rest
