"""Looks for contradictions inside the index, and says how each is repaired."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from veridical.errors import ConfigError, CorruptIndex, IndexBusy, StorageFull
from veridical.index.dense import DenseIndex
from veridical.index.lexical import Lexical
from veridical.index.lock import WriteLock, holder_of
from veridical.index.records import Problem
from veridical.index.schema import connect
from veridical.index.store import Store
from veridical.types import Span

_REBUILD = "run `veridical rebuild`"
_ADD_AGAIN = "move the index folder away and add the documents again with `veridical add`"
_ATTEMPTS = 5
_PATIENCE_S = 0.2
_SAMPLE = 200  # passages whose words are looked up
_DEPTH = 200
_UNIT = 1e-2  # how far the length of a stored float16 vector may be from one


def check(folder: Path, lexical: Lexical, dense: DenseIndex | None, embedder: int | None) -> list[Problem]:
    """In order of gravity. Nothing is written meanwhile, unless another process writes already.

    `embedder` is the number of the present one, 0 when it has made no vector yet, None when there is none.
    """
    lock = WriteLock(folder, wait_s=0)
    try:
        lock.acquire()
    except IndexBusy:
        return _check_beside_a_writer(folder, lexical, dense, embedder)
    except (ConfigError, StorageFull):  # nobody can write here
        return [problem for part in _check(folder, lexical, dense, embedder) for problem in part]
    try:
        return [problem for part in _check(folder, lexical, dense, embedder) for problem in part]
    finally:
        lock.release()


def _check_beside_a_writer(
    folder: Path, lexical: Lexical, dense: DenseIndex | None, embedder: int | None
) -> list[Problem]:
    """Tries until it meets store and search indexes at the same change: what differs before that proves nothing."""
    own: list[Problem] = []
    for _ in range(_ATTEMPTS):
        own, derived = _check(folder, lexical, dense, embedder)
        if not derived:
            return own
        time.sleep(_PATIENCE_S)
    busy = f"a writer is active (process {holder_of(folder)}): the search indexes could not be compared with the store"
    return [*own, Problem(busy, "check again when it has finished")]


def _check(
    folder: Path, lexical: Lexical, dense: DenseIndex | None, embedder: int | None
) -> tuple[list[Problem], list[Problem]]:
    """What is wrong within one snapshot of the store, and where the search indexes differ from it."""
    with closing(Store(connect(folder), folder)) as store:
        store.rows("BEGIN")
        own = [
            *_check_database(store),
            *_check_spans(store),
            *_check_clusters(store),
            *_check_vectors(store, embedder),
        ]
        return own, [*_check_lexical(store, lexical), *_check_dense(store, dense, embedder)]


def _check_database(store: Store) -> Iterator[Problem]:
    findings = [text for (text,) in store.rows("PRAGMA integrity_check(5)") if text != "ok"]
    if findings:
        yield Problem(f"the database is damaged: {'; '.join(findings)}", _ADD_AGAIN)
    orphans = store.rows("PRAGMA foreign_key_check")
    if orphans:
        yield Problem(f"{len(orphans)} rows belong to nothing (first in table {orphans[0][0]})", _ADD_AGAIN)


def _check_spans(store: Store) -> Iterator[Problem]:
    """Every passage's text must be the document's text at its span."""
    wrong = 0
    last = ""
    for (document_id,) in store.rows("SELECT id FROM documents ORDER BY key"):
        document = store.document(document_id)
        if document is None:  # deleted by another process since
            continue
        spans = store.rows(
            "SELECT p.start, p.end, p.text FROM passages AS p JOIN documents AS d ON d.key = p.document WHERE d.id = ?",
            (document_id,),
        )
        if any(Span(start, end).of(document.text) != text for start, end, text in spans):
            wrong += 1
            last = document_id
    if wrong:
        yield Problem(f"passages of {wrong} documents do not match their text (such as {last})", _ADD_AGAIN)


def _check_clusters(store: Store) -> Iterator[Problem]:
    lost = store.one(
        "SELECT count(*) FROM passages AS p LEFT JOIN passages AS h ON h.row = p.cluster"
        " WHERE p.cluster IS NOT NULL AND (h.row IS NULL OR h.cluster IS NOT NULL)"
    )
    without = store.one("SELECT count(*) FROM passages WHERE cluster IS NULL AND row NOT IN (SELECT row FROM bands)")
    stray = store.one("SELECT count(*) FROM bands WHERE row NOT IN (SELECT row FROM passages WHERE cluster IS NULL)")
    if lost or without or stray:
        yield Problem(f"the near-duplicate links of {lost + without + stray} passages are wrong", _REBUILD)


def _check_vectors(store: Store, embedder: int | None) -> Iterator[Problem]:
    missing = 0 if embedder is None else store.stale(embedder, None).passages_to_embed
    if missing:
        yield Problem(
            f"{missing} passages have no vector of the present embedder", "run `veridical rebuild`, which embeds them"
        )
    bad = 0
    last = -1
    while rows := store.rows("SELECT row, half FROM vectors WHERE row > ? ORDER BY row LIMIT 2000", (last,)):
        last = rows[-1][0]
        for _, half in rows:
            length = float(np.linalg.norm(np.frombuffer(half, np.float16).astype(np.float32)))
            bad += not abs(length - 1) <= _UNIT  # also true for NaN
    if bad:
        yield Problem(f"{bad} vectors are not of length one", _ADD_AGAIN)


def _check_lexical(store: Store, lexical: Lexical) -> Iterator[Problem]:
    applied = lexical.refresh()
    if applied < 0:
        yield Problem("the lexical index cannot be read", _REBUILD)
        return
    stored = {row for (row,) in store.rows("SELECT row FROM passages")}
    yield from _compare("lexical", lexical.rows(), stored)
    if not all(_is_found(store, lexical, row) for row in sorted(stored)[:: len(stored) // _SAMPLE + 1]):
        yield Problem("the lexical index does not find passages by their own words", _REBUILD)
    if applied != store.seq():
        yield Problem("the lexical index does not follow the store", _REBUILD)


def _is_found(store: Store, lexical: Lexical, row: int) -> bool:
    """Is a passage among those that its own words find? Near-duplicates may come before it, but not that many."""
    text = store.one("SELECT text FROM passages WHERE row = ?", (row,))
    try:
        found = lexical.search(text, _DEPTH)
    except CorruptIndex:
        return False
    return not found or len(found) == _DEPTH or any(hit == row for hit, _ in found)


def _check_dense(store: Store, dense: DenseIndex | None, embedder: int | None) -> Iterator[Problem]:
    if dense is None or not embedder:
        return
    applied = dense.refresh()
    if applied < 0:
        yield Problem("the vector index cannot be read", _REBUILD)
        return
    stored = {row for (row,) in store.rows("SELECT row FROM vectors WHERE embedder = ?", (embedder,))}
    yield from _compare("vector", dense.rows().tolist(), stored)
    different = 0
    last = -1
    ours = "SELECT row, half FROM vectors WHERE row > ? AND embedder = ? ORDER BY row LIMIT 2000"
    while rows := store.rows(ours, (last, embedder)):
        last = rows[-1][0]
        halves = np.frombuffer(b"".join([half for _, half in rows]), np.float16)
        different += dense.differing([row for row, _ in rows], halves.reshape(len(rows), -1).astype(np.float32))
    if different:
        yield Problem(f"the vector index differs from the store in {different} passages", _REBUILD)
    if applied != store.seq():
        yield Problem("the vector index does not follow the store", _REBUILD)


def _compare(kind: str, held: list[int], stored: set[int]) -> Iterator[Problem]:
    if len(held) != len(set(held)):
        yield Problem(f"the {kind} index holds {len(held) - len(set(held))} passages twice", _REBUILD)
    missing, extra = stored - set(held), set(held) - stored
    if missing or extra:
        yield Problem(f"the {kind} index lacks {len(missing)} passages and has {len(extra)} that are gone", _REBUILD)
