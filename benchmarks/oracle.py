"""BM25 by brute force, as tantivy defines it: what a lexical search must find.

k1 = 1.2, b = 0.75, idf = ln(1 + (N - n + 0.5) / (n + 0.5)). A passage's length is known to one byte only: lengths
up to 40 exactly, longer ones rounded down to a floating-point number with four significant bits above an offset of 24.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_K1, _B = 1.2, 0.75
_EXACT = 24  # codes below it are the length itself
_SAME = 1e-5  # relative: tantivy adds in single precision, so scores this close are a tie

Analyse = Callable[[str], Sequence[str]]


def length_table() -> NDArray[np.int64]:
    """The 256 lengths that one byte can say, ascending."""
    return np.array([code if code < _EXACT else _EXACT + _expand(code - _EXACT) for code in range(256)], np.int64)


def _expand(code: int) -> int:
    """Three bits of mantissa with an implied leading one, the rest exponent; small codes stand for themselves."""
    mantissa, exponent = code & 7, code >> 3
    return mantissa if exponent == 0 else (mantissa | 8) << (exponent - 1)


class Oracle:
    """Scores every passage for every question; only terms of the given questions are kept."""

    def __init__(self, texts: Iterable[str], questions: Mapping[str, Sequence[str]], analyse: Analyse) -> None:
        """`questions` maps each question to the words that are searched for."""
        self._terms = {question: list(dict.fromkeys(analyse(" ".join(words)))) for question, words in questions.items()}
        wanted = {term for terms in self._terms.values() for term in terms}
        places: dict[str, list[int]] = {term: [] for term in wanted}
        counts: dict[str, list[int]] = {term: [] for term in wanted}
        lengths = []
        for place, text in enumerate(texts):
            tokens = analyse(text)
            lengths.append(len(tokens))
            for term, count in Counter(token for token in tokens if token in wanted).items():
                places[term].append(place)
                counts[term].append(count)
        self._size = len(lengths)
        self._postings = {
            term: (np.array(places[term], np.int64), np.array(counts[term], np.float64)) for term in wanted
        }
        table, exact = length_table(), np.array(lengths, np.int64)
        rounded = table[np.searchsorted(table, exact, side="right") - 1]
        self._norms = _K1 * (1 - _B + _B * rounded / exact.mean())

    def scores(self, question: str) -> NDArray[np.float64]:
        """One score a passage, in the order of the texts."""
        total = np.zeros(self._size)
        for term in self._terms[question]:
            places, counts = self._postings[term]
            idf = np.log1p((self._size - len(places) + 0.5) / (len(places) + 0.5))
            total[places] += idf * (_K1 + 1) * counts / (counts + self._norms[places])
        return total


def overlap(found: Sequence[int], scores: NDArray[np.float64], k: int) -> float:
    """The share of the k best that was found; passages that tie with the k-th are as good as each other."""
    matching = min(k, int((scores > 0).sum()))
    if not matching:
        return 1.0
    bar = np.partition(scores, len(scores) - matching)[len(scores) - matching]
    good = sum(scores[place] >= bar * (1 - _SAME) for place in set(found[:k]))
    return float(min(good, matching)) / matching
