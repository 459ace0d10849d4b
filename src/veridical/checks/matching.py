"""Which sentences of a passage speak of what a claim speaks of: those that share most of its content words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import NamedTuple, TypeVar

from veridical.checks.words import CUES, STOP_WORDS, fold, stem

_END = re.compile(r"(?<=[.!?])\s+|\n+")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W_]+(?:'[^\W_]+)*|[,;:()—–.!?]")
_NEAR = 0.5  # share from which a sentence may speak for the claim
_MOST = 500_000  # pairs of a word and a sentence that are looked at, so that no text takes more than linear time
_MOST_NEAR = 40  # sentences that are compared with one of the claim's
_MOST_TOKENS = 400  # of a sentence; what runs on longer is a table or a list of words
_FEWEST = 3  # content words; a shorter sentence is alike to anything
_LONGEST = 80  # words of a sentence that are put in order

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that is no question; all but `raw` is folded."""

    raw: str
    text: str
    tokens: tuple[str, ...]
    stems: tuple[str, ...]  # of the tokens, empty for what is no content word
    words: frozenset[str]  # the stems of its content words


class Match(NamedTuple):
    """A sentence of the claim, and those of the passage that are near to it with their shares, best first."""

    claimed: Sentence
    near: list[tuple[float, Sentence]]


class Stems(dict[str, str]):
    """The stem of each word, empty for what is no content word; kept, for the same words come again and again."""

    def __missing__(self, token: str) -> str:
        content = token[0].isalnum() and token not in STOP_WORDS and token.replace("'", "") not in CUES
        self[token] = stem(token) if content else ""
        return self[token]


def match_sentences(claim: str, evidence: str) -> list[Match]:
    """Each telling sentence of the claim with the sentences of the evidence that hold half of its content words."""
    stems = Stems()
    claimed = [sentence for sentence in _read(claim, stems) if len(sentence.words) >= _FEWEST]
    if not claimed:
        return []
    sentences = _read(evidence, stems)
    places: dict[str, list[int]] = defaultdict(list)
    for place, sentence in enumerate(sentences):
        for word in sentence.words:
            places[word].append(place)
    matches: list[Match] = []
    effort = 0
    for sentence in claimed:
        effort += sum(len(places.get(word, ())) for word in sentence.words)
        if effort > _MOST:
            break
        counts = Counter(place for word in sentence.words for place in places.get(word, ()))
        shares = ((count / len(sentence.words), -place) for place, count in counts.items())
        best = nlargest(_MOST_NEAR, (pair for pair in shares if pair[0] >= _NEAR))
        matches.append(Match(sentence, [(share, sentences[-place]) for share, place in best]))
    return matches


def _read(text: str, stems: Stems) -> list[Sentence]:
    """The sentences of `text` that are no questions and no heaps of words, each once, in order."""
    texts = dict.fromkeys(sentence.strip() for sentence in _END.split(text))
    told = (_read_sentence(sentence, stems) for sentence in texts if sentence and not sentence.endswith("?"))
    return [sentence for sentence in told if len(sentence.tokens) <= _MOST_TOKENS]


def _read_sentence(raw: str, stems: Stems) -> Sentence:
    text = fold(raw)
    tokens = tuple(_TOKEN.findall(text))
    found = tuple(stems[token] for token in tokens)
    return Sentence(raw, text, tokens, found, frozenset(found) - {""})


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
