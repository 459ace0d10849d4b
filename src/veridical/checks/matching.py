"""Which sentences of a passage speak of what a claim speaks of: those that share most of its content words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import TypeVar

from veridical.checks.words import CUES, STOP_WORDS, fold, stem

_END = re.compile(r"(?<=[.!?])\s+|\n+")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W_]+(?:'[^\W_]+)*|[,;:()—–.!?]")
_NEAR = 0.5  # share from which a sentence may speak for the claim
_MOST = 500_000  # pairs of a word and a sentence that are looked at, so that no text takes more than linear time
_MOST_NEAR = 40  # sentences that are compared with one of the claim's
_FEWEST = 3  # content words; a shorter sentence is alike to anything
_LONGEST = 80  # words of a sentence that are put in order

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that is no question: folded, as its tokens and the stems of its content words."""

    text: str
    tokens: tuple[str, ...]
    words: frozenset[str]

    @property
    def telling(self) -> bool:
        return len(self.words) >= _FEWEST


class Stems(dict[str, str]):
    """The stem of each word, empty for what is no content word; kept, for the same words come again and again."""

    def __missing__(self, token: str) -> str:
        content = token[0].isalnum() and token not in STOP_WORDS and token.replace("'", "") not in CUES
        self[token] = stem(token) if content else ""
        return self[token]


class Sentences:
    """The sentences of a text, each once, in order, made ready for asking which are near to another."""

    def __init__(self, text: str) -> None:
        self.stems = Stems()
        texts = dict.fromkeys(sentence.strip() for sentence in _END.split(fold(text)))
        self.all = [self._read(sentence) for sentence in texts if sentence and not sentence.endswith("?")]
        self._places: dict[str, list[int]] = defaultdict(list)
        for place, sentence in enumerate(self.all):
            for word in sentence.words:
                self._places[word].append(place)
        self._effort = 0

    def _read(self, text: str) -> Sentence:
        tokens = tuple(_TOKEN.findall(text))
        return Sentence(text, tokens, frozenset(self.stems[token] for token in tokens) - {""})

    def near(self, claimed: Sentence) -> list[tuple[float, Sentence]]:
        """The sentences that hold half of the claimed one's content words or more, with that share, best first."""
        found = [self._places.get(word, []) for word in claimed.words]
        self._effort += sum(map(len, found))
        if self._effort > _MOST:
            return []
        counts = Counter(place for places in found for place in places)
        shares = ((count / len(claimed.words), -place) for place, count in counts.items())
        best = nlargest(_MOST_NEAR, (pair for pair in shares if pair[0] >= _NEAR))
        return [(share, self.all[-place]) for share, place in best]


def common_length(one: Sequence[Item], other: Sequence[Item]) -> int:
    """How many items both have in the same order, others between them or not; only the first 80 of each are read."""
    other = other[:_LONGEST]
    lengths = [0] * (len(other) + 1)
    for item in one[:_LONGEST]:
        diagonal = 0
        for place, candidate in enumerate(other, start=1):
            above = lengths[place]
            lengths[place] = diagonal + 1 if item == candidate else max(above, lengths[place - 1])
            diagonal = above
    return lengths[-1]
