"""Pairs of texts on their way through a model: taken in slices, so that memory stays flat, and never scored twice."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

Pair: TypeAlias = tuple[str, str]
Value = TypeVar("Value")

_MOST = 20_000
_SLICE_CHARACTERS = 2_000_000  # their tokens take some 20 MB


def readable(text: str) -> str:
    """`text` without lone surrogates (from a badly decoded file name, say), which no tokenizer can read."""
    return text.encode("utf-8", "replace").decode()


def slices(pairs: Sequence[Pair], most: int) -> Iterator[Sequence[Pair]]:
    """`pairs` in order, at most `most` at a time, fewer where the texts are very long."""
    start = characters = 0
    for end, (first, second) in enumerate(pairs):
        characters += len(first) + len(second)
        if end - start == most or (end > start and characters > _SLICE_CHARACTERS):
            yield pairs[start:end]
            start, characters = end, len(first) + len(second)
    if start < len(pairs):
        yield pairs[start:]


class Remembered(Generic[Value]):
    """Values by the content of their pair of texts; the least recently used is forgotten first."""

    def __init__(self, most: int = _MOST) -> None:
        self.most = most
        self._values: OrderedDict[bytes, Value] = OrderedDict()

    def look_up(self, pairs: Sequence[Pair]) -> tuple[dict[Pair, Value], list[Pair]]:
        """What is known of `pairs`, and those, each once and in order, that are not."""
        known: dict[Pair, Value] = {}
        missing: list[Pair] = []
        for pair in dict.fromkeys(pairs):
            key = _digest(pair)
            if key in self._values:
                self._values.move_to_end(key)
                known[pair] = self._values[key]
            else:
                missing.append(pair)
        return known, missing

    def keep(self, found: Mapping[Pair, Value]) -> None:
        for pair, value in found.items():
            self._values[_digest(pair)] = value
        while len(self._values) > self.most:
            self._values.popitem(last=False)


def _digest(pair: Pair) -> bytes:
    first, second = (text.encode("utf-8", "replace") for text in pair)
    return hashlib.blake2b(len(first).to_bytes(8, "big") + first + second, digest_size=16).digest()
