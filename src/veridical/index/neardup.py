"""Near-duplicate passages, found by MinHash and verified exactly.

A passage joins the cluster of an earlier one when their word 3-shingles have a Jaccard similarity of at least
0.8 AND everything by which two almost equal texts may contradict each other is the same in both, in the same
order: numbers, dates, names, negations and common opposites. "The bridge opened in 1931" and "The bridge
opened in 1932" are never hidden behind one another.

Only the head of a cluster (its first passage) keeps bands, so a thousand copies cost one.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIMILARITY = 0.8
_SHINGLE = 3
_SHORTEST = 8  # words; below it a shingle or two decide everything, so only equal texts count
# 8 bands of 5: a pair at 0.8 is found with probability 0.96, at 0.9 with 0.9995; a stray pair at 0.3 with 0.02.
_BANDS, _ROWS = 8, 5
_CANDIDATES = 16

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(?<![.!?:;\n] )(?<![\n\"“(])(?<!^)\b[A-Z]\w+")
_NUMBER = re.compile(r"[<>=≤≥≠±]+|[-+−]?[$€£]?\d[\d.,:/]*%?")
_TELLING = frozenset(
    """
    not no never none neither nor nobody nothing nowhere cannot without hardly barely except unless
    one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty seventy eighty
    ninety hundred thousand million billion dozen half twice once first second third last
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    more less most least higher lower high low increase increased increases decrease decreased decreases rise rose
    rises fall fell falls before after above below over under open opened opens close closed closes start started
    starts end ended ends begin began stop stopped win won lose lost accept accepted reject rejected approve approved
    deny denied allow allowed forbid forbidden true false yes always left right north south east west up down all
    some any only he she man woman alive dead early late old new cheap expensive safe unsafe legal illegal
    possible impossible success failure succeeded failed supports contradicts with
    """.split()  # noqa: SIM905 - two hundred quoted words would be unreadable
)


@dataclass(frozen=True, slots=True)
class Print:
    """What two texts are compared by: shingle hashes in order, the telling tokens, and the bands."""

    shingles: NDArray[np.uint64]
    telling: tuple[str, ...]
    bands: tuple[int, ...]


class Fingerprinter:
    """Computes prints with fixed random numbers, so that bands mean the same in every process."""

    def __init__(self) -> None:
        rng = np.random.default_rng(20_261_115)
        self._factors = rng.integers(1, 2**63, size=(_BANDS * _ROWS, 1), dtype=np.uint64) | np.uint64(1)
        self._offsets = rng.integers(0, 2**63, size=(_BANDS * _ROWS, 1), dtype=np.uint64)
        self._joint = rng.integers(1, 2**63, size=(_BANDS, _ROWS), dtype=np.uint64) | np.uint64(1)
        self._shingle = rng.integers(1, 2**63, size=_SHINGLE, dtype=np.uint64) | np.uint64(1)

    def print_of(self, text: str) -> Print:
        words = _WORD.findall(text.lower())
        telling = telling_tokens(text)
        # Salted, so that a thousand forms that differ in one number do not all become candidates of each other.
        salt = hash_of("\0".join(telling))
        hashes = np.fromiter((hash_of(word) for word in words), np.uint64, len(words))
        if len(words) < _SHORTEST:
            whole = hash_of(" ".join(words or [text.strip()]))
            return Print(hashes, telling, ((whole << 32) + salt - 2**63,))
        shingles = np.unique(_mix(sum_products(hashes, self._shingle)))
        minima = (self._factors * shingles + self._offsets).min(axis=1) >> np.uint64(20)
        joined = _mix((minima.reshape(_BANDS, _ROWS) * self._joint).sum(axis=1, dtype=np.uint64) + np.uint64(salt))
        return Print(shingles, telling, tuple(joined.view(np.int64).tolist()))


def hash_of(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "replace"))


def sum_products(hashes: NDArray[np.uint64], factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One hash a shingle: the dot product of each window of `hashes` with `factors`, modulo 2**64."""
    windows = np.lib.stride_tricks.sliding_window_view(hashes, len(factors))
    products: NDArray[np.uint64] = (windows * factors).sum(axis=1, dtype=np.uint64)
    return products


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(31))) * np.uint64(0x7FB5D329728EA185)
    mixed: NDArray[np.uint64] = values ^ (values >> np.uint64(27))
    return mixed


def telling_tokens(text: str) -> tuple[str, ...]:
    """The tokens by which almost equal texts may contradict each other, in three groups, each in order."""
    lowered = text.lower().replace("n’t", "n't").replace("n't", " not")
    words = [word for word in _WORD.findall(lowered) if word in _TELLING]
    return (*_NUMBER.findall(text), "|", *words, "|", *_NAME.findall(text))


def near_duplicates(one: Print, other: Print) -> bool:
    if one.telling != other.telling:
        return False
    if len(one.bands) == 1 or len(other.bands) == 1:
        return one.bands == other.bands and np.array_equal(one.shingles, other.shingles)
    common = len(np.intersect1d(one.shingles, other.shingles, assume_unique=True))
    return common >= SIMILARITY * (len(one.shingles) + len(other.shingles) - common)


class Linker:
    """Keeps clusters in the store, inside the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._fingerprinter = Fingerprinter()

    def print_of(self, text: str) -> Print:
        return self._fingerprinter.print_of(text)

    def head_for(self, new: Print) -> int | None:
        """The head of the cluster that a text belongs to, if there is one."""
        marks = ",".join("?" * len(new.bands))
        found = self._connection.execute(
            f"SELECT p.row, p.text FROM passages AS p WHERE p.row IN"  # noqa: S608 - only question marks
            f" (SELECT row FROM bands WHERE band IN ({marks}) ORDER BY row LIMIT {_CANDIDATES})",
            new.bands,
        )
        for row, text in found:
            if near_duplicates(new, self.print_of(text)):
                return int(row)
        return None

    def add_head(self, row: int, its: Print) -> None:
        self._connection.executemany("INSERT OR IGNORE INTO bands VALUES (?, ?)", [(band, row) for band in its.bands])

    def forget(self, rows: Sequence[int]) -> None:
        """Takes rows that are about to be deleted out of their clusters; a cluster that loses its head gets another."""
        gone = set(rows)
        for row in rows:
            text, cluster = self._connection.execute(
                "SELECT text, cluster FROM passages WHERE row = ?", (row,)
            ).fetchone()
            if cluster is not None:
                continue
            bands = self.print_of(text).bands
            self._connection.executemany("DELETE FROM bands WHERE band = ? AND row = ?", [(b, row) for b in bands])
            members = self._connection.execute("SELECT row FROM passages WHERE cluster = ? ORDER BY row", (row,))
            self._regroup([member for (member,) in members], gone)

    def _regroup(self, members: Iterable[int], gone: set[int]) -> None:
        """Links the members of a cluster without a head anew, each to the first that it resembles."""
        for member in members:
            if member in gone:  # it is deleted with its head, and must not be skipped as if it had a live one
                self._connection.execute("UPDATE passages SET cluster = row WHERE row = ?", (member,))
                continue
            (text,) = self._connection.execute("SELECT text FROM passages WHERE row = ?", (member,)).fetchone()
            its = self.print_of(text)
            head = self.head_for(its)
            self._connection.execute("UPDATE passages SET cluster = ? WHERE row = ?", (head, member))
            if head is None:
                self.add_head(member, its)
