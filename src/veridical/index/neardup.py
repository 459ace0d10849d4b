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
_SHORTEST = 8  # words; below it a shingle or two decide everything, so only equal texts count
# 3 bands of 2: a pair at 0.8 is found with probability 0.95, at 0.9 with 0.993. Stray candidates are rare all the same,
# since the telling tokens are part of a band. More bands would find a few more pairs, but each costs a random page of
# the database for every passage.
_BANDS, _ROWS = 3, 2
_CANDIDATES = 32

_TOKEN = re.compile(r"[^\W\d_]\w*|[<>=≤≥≠±]+|[-+−]?[$€£]?\d[\d.,:/]*%?|\w+")  # words first: most are
_TELLING = frozenset(
    """
    not isn aren wasn weren don doesn didn couldn wouldn shouldn hasn haven hadn
    no never none neither nor nobody nothing nowhere cannot without hardly barely except unless
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


# Capitalised words that say nothing when they begin a sentence; any other capitalised word counts as a name.
_OPENERS = frozenset(
    "a an and as at but by for from if in it its of on so that the their there these they this to".split()  # noqa: SIM905
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
        self._telling = _Telling()
        rng = np.random.default_rng(20_261_115)
        self._factors = rng.integers(1, 2**63, size=(_BANDS * _ROWS, 1), dtype=np.uint64) | np.uint64(1)
        self._offsets = rng.integers(0, 2**63, size=(_BANDS * _ROWS, 1), dtype=np.uint64)
        self._joint = rng.integers(1, 2**63, size=(_BANDS, _ROWS), dtype=np.uint64) | np.uint64(1)
        self._shingle = rng.integers(1, 2**63, size=3, dtype=np.uint64) | np.uint64(1)

    def print_of(self, text: str) -> Print:
        tokens = _TOKEN.findall(text)
        words = " ".join(tokens).lower()
        telling = tuple(filter(self._telling.__getitem__, tokens))
        # Salted, so that a thousand forms that differ in one number do not all become candidates of each other.
        salt = _hash("\0".join(telling))
        hashes = np.fromiter(map(zlib.crc32, _bytes(words).split(b" ")), np.uint64)
        if len(tokens) < _SHORTEST:
            whole = _hash(words or text.strip())
            return Print(hashes, telling, ((whole << 32) + salt - 2**63,))
        one, two, three = self._shingle
        shingles = _mix(hashes[:-2] * one + hashes[1:-1] * two + hashes[2:] * three)
        minima = (self._factors * shingles + self._offsets).min(axis=1) >> np.uint64(20)
        joined = _mix((minima.reshape(_BANDS, _ROWS) * self._joint).sum(axis=1, dtype=np.uint64) + np.uint64(salt))
        return Print(shingles, telling, tuple(joined.view(np.int64).tolist()))


class _Telling(dict[str, bool]):
    """Whether two almost equal texts may contradict each other by a token. Remembers: words are few, tokens many."""

    def __missing__(self, token: str) -> bool:
        word = token.lower()
        tells = word in _TELLING or (token != word and word not in _OPENERS) or not word[0].isalpha()
        if len(self) > 100_000:
            self.clear()
        self[token] = tells
        return tells


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _hash(text: str) -> int:
    return zlib.crc32(_bytes(text))


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(31))) * np.uint64(0x7FB5D329728EA185)
    mixed: NDArray[np.uint64] = values ^ (values >> np.uint64(27))
    return mixed


def near_duplicates(one: Print, other: Print) -> bool:
    if one.telling != other.telling:
        return False
    if len(one.bands) == 1 or len(other.bands) == 1:
        return one.bands == other.bands and np.array_equal(one.shingles, other.shingles)
    ours, theirs = np.unique(one.shingles), np.unique(other.shingles)
    common = len(np.intersect1d(ours, theirs, assume_unique=True))
    return common >= SIMILARITY * (len(ours) + len(theirs) - common)


class Linker:
    """Keeps clusters in the store, inside the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._fingerprinter = Fingerprinter()

    def print_of(self, text: str) -> Print:
        return self._fingerprinter.print_of(text)

    def head_for(self, text: str, new: Print) -> int | None:
        """The head of the cluster that a text belongs to, if there is one."""
        marks = ",".join("?" * len(new.bands))
        found = self._connection.execute(
            f"SELECT p.row, p.text FROM passages AS p WHERE p.row IN"  # noqa: S608 - only question marks
            f" (SELECT row FROM bands WHERE band IN ({marks}) ORDER BY row LIMIT {_CANDIDATES})",
            new.bands,
        )
        for row, other in found:
            if other == text or near_duplicates(new, self.print_of(other)):
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
            head = self.head_for(text, its)
            self._connection.execute("UPDATE passages SET cluster = ? WHERE row = ?", (head, member))
            if head is None:
                self.add_head(member, its)
