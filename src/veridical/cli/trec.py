"""BEIR queries in, a TREC run out, so that anyone can score the retrieval with their own tools."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from veridical.errors import InputRefused

if TYPE_CHECKING:
    from veridical.blocking import Engine
    from veridical.types import Filter, Passage

TAG = "veridical"
_BATCH = 64
_NAMED = 5  # malformed lines named in the message; more is a wall of text


class Query(NamedTuple):
    id: str
    text: str


class Ranked(NamedTuple):
    document: str
    score: float


def read_queries(file: Path) -> list[Query]:
    """In the order of the file (JSON Lines, .gz too). Raises InputRefused that names the malformed lines."""
    queries, wrong = [], []
    try:
        with _open(file) as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                query = _query(line)
                if query is None:
                    wrong.append(number)
                else:
                    queries.append(query)
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise InputRefused(f"{file} cannot be read: {error}", fix="give a JSON Lines file, plain or .gz") from None
    if wrong:
        named = ", ".join(map(str, wrong[:_NAMED])) + (
            f" and {len(wrong) - _NAMED:,} more" if len(wrong) > _NAMED else ""
        )
        raise InputRefused(
            f"{file}: malformed line{'s' if len(wrong) > 1 else ''} {named}",
            fix='a line is {"_id": "…", "text": "…"}, with neither empty; mend or remove the others',
        )
    if not queries:
        raise InputRefused(f"{file} holds no queries", fix='one a line: {"_id": "…", "text": "…"}')
    return queries


def _open(file: Path) -> IO[str]:
    if file.suffix == ".gz":
        return cast("IO[str]", gzip.open(file, "rt", encoding="utf-8"))
    return file.open(encoding="utf-8")


def _query(line: str) -> Query | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    if not isinstance(row, dict):
        return None
    id_, text = str(row.get("_id", "")).strip(), row.get("text")
    # A TREC line is split at spaces, so an id with one could not be read back.
    usable = id_ and not any(map(str.isspace, id_)) and isinstance(text, str) and text.strip()
    return Query(id_, str(text)) if usable else None


def rank_documents(engine: Engine, queries: Sequence[str], k: int, where: Filter | None) -> list[list[Ranked]]:
    """The best k documents a query, each with the score of its best passage.

    Several passages may be of one document, so ever more are asked for until there are k documents or no more
    passages.
    """
    ranked: list[list[Ranked]] = [[] for _ in queries]
    open_, asked = list(range(len(queries))), k
    while open_:
        found = engine.search_many([queries[i] for i in open_], asked, where)
        short = []
        for i, passages in zip(open_, found, strict=True):
            ranked[i] = _best_of_each(passages, k)
            if len(ranked[i]) < k and len(passages) >= asked:
                short.append(i)
        open_, asked = short, asked * 2
    return ranked


def _best_of_each(passages: Sequence[Passage], k: int) -> list[Ranked]:
    best: dict[str, float] = {}
    for passage in passages:
        # Search names a near-duplicate beside the passage it resembles; a run ranks its document too.
        copies = (id_.rpartition(":")[0] for id_ in passage.also_in)
        for document in (passage.document_id, *copies):
            best.setdefault(document, passage.score)
    return [Ranked(document, score) for document, score in best.items()][:k]


def run_lines(engine: Engine, queries: Sequence[Query], k: int, where: Filter | None) -> Iterator[tuple[int, str]]:
    """(queries done, their lines) a batch: `qid Q0 document rank score tag`, in the order of the queries."""
    for start in range(0, len(queries), _BATCH):
        batch = queries[start : start + _BATCH]
        ranked = rank_documents(engine, [query.text for query in batch], k, where)
        lines = [
            f"{query.id} Q0 {hit.document} {rank} {score:.6f} {TAG}\n"
            for query, hits in zip(batch, ranked, strict=True)
            for rank, (hit, score) in enumerate(zip(hits, falling([hit.score for hit in hits]), strict=True), 1)
        ]
        yield start + len(batch), "".join(lines)


def falling(scores: Sequence[float]) -> list[float]:
    """The scores made strictly falling at six decimals: tools sort a run by score and break ties their own way."""
    made: list[float] = []
    for score in scores:
        rounded = round(score, 6)
        made.append(rounded if not made or rounded < made[-1] else round(made[-1] - 1e-6, 6))
    return made


def write_run(file: Path, batches: Iterator[tuple[int, str]], done: Callable[[int], None]) -> int:
    """Writes the whole run or nothing; returns how many lines."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    lines = 0
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            for number, text in batches:
                stream.write(text)
                lines += text.count("\n")
                done(number)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError as error:
        raise InputRefused(
            f"{file} cannot be written: {error}", fix="name a file in a folder you may write to"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)
    return lines
