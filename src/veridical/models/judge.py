"""The judge that ships: does this passage carry this claim? It runs on the CPU and reads English.

A long passage is read in overlapping windows of whole sentences, and the best window counts; a claim of several
sentences is only as good as its least supported one. (Sentence-level max over windows and min over claims.)
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from veridical.models.cross_encoder import Code, CrossEncoder
from veridical.models.pairs import Pair, Remembered, readable, slices
from veridical.text.language import looks_english
from veridical.text.sentences import split_sentences
from veridical.types import Entailment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SLICE_PAIRS = 128  # what one caller does before another gets its turn
_CODES_AT_ONCE = 4096  # inputs held in memory
_CLAIM_TOKENS = 96
MOST_EASED = 6  # sentences of a claim: no longer answers were seen when the easing was fitted
_MOST_WINDOWS = 64  # of one passage, for one sentence: some 14,000 tokens, six seconds of one core
_NEUTRAL = Entailment(0.0, 1.0, 0.0)


class _Reading(NamedTuple):
    """How strongly the best window supports and opposes one sentence of a claim, and how many windows were read."""

    support: float = 0.0
    against: float = 0.0
    windows: int = 0

    def then(self, support: float, against: float) -> _Reading:
        return _Reading(max(self.support, support), max(self.against, against), self.windows + 1)


class LocalJudge:
    """Entailment of a claim by a passage. Raises ModelUnavailable when the model cannot be used."""

    def __init__(self, encoder: CrossEncoder | None = None) -> None:
        self.encoder = encoder or CrossEncoder()
        self._remembered: Remembered[Entailment] = Remembered()

    # ── the port ─────────────────────────────────────────────────────────────────────────────────

    @property
    def threshold(self) -> float:
        """Where support was found to begin, on the development set."""
        return float(self.encoder.manifest["judge"]["threshold"])

    def declines(self, text: str) -> str:
        return "" if looks_english(text) else "the shipped judge reads English only"

    async def entail(self, pairs: Sequence[Pair]) -> Sequence[Entailment]:
        """One distribution a (premise, claim), in order; a slice at a time, so memory does not grow with `pairs`."""
        loop = asyncio.get_running_loop()
        found: list[Entailment] = []
        for part in slices(pairs, _SLICE_PAIRS):
            found += await loop.run_in_executor(self.encoder.worker, self.entail_now, part)
        return found

    # ── plain functions ──────────────────────────────────────────────────────────────────────────

    def entail_now(self, pairs: Sequence[Pair]) -> list[Entailment]:
        """The same as `entail`, in the calling thread and its helpers."""
        known, missing = self._remembered.look_up(pairs)
        new = dict(zip(missing, self._entail(missing), strict=True))
        self._remembered.keep(new)
        known |= new
        return [known[pair] for pair in pairs]

    def plan(self, pairs: Sequence[Pair]) -> tuple[list[Code], list[list[list[int]]]]:
        """The distinct inputs, and for each pair, for each sentence of its claim, the rows of its windows."""
        codes: dict[Code, int] = {}
        rows: list[list[list[int]]] = [[] for _ in pairs]
        for pair, part, code in self._inputs(pairs):
            while len(rows[pair]) <= part:
                rows[pair].append([])
            rows[pair][part].append(codes.setdefault(code, len(codes)))
        return list(codes), rows

    def probabilities(self, logits: NDArray[np.float32]) -> NDArray[np.float64]:
        """Entailment, neutral, contradiction of each row, after temperature scaling."""
        import numpy as np

        scaled = logits[:, :3].astype(np.float64) / self.encoder.manifest["judge"]["temperature"]
        odds = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        values: NDArray[np.float64] = odds / odds.sum(axis=1, keepdims=True)
        return values

    # ── inside ───────────────────────────────────────────────────────────────────────────────────

    def _entail(self, pairs: Sequence[Pair]) -> list[Entailment]:
        readings: list[dict[int, _Reading]] = [{} for _ in pairs]
        inputs = self._inputs(pairs)
        while some := list(islice(inputs, _CODES_AT_ONCE)):
            rows = {code: row for row, code in enumerate(dict.fromkeys(code for _, _, code in some))}
            probabilities = self.probabilities(self.encoder.logits(list(rows)))
            for pair, part, code in some:
                support, _, against = probabilities[rows[code]].tolist()
                readings[pair][part] = readings[pair].get(part, _Reading()).then(support, against)
        easing = float(self.encoder.manifest["judge"].get("easing", 0.0))
        return [_conclude(list(found.values()), easing) for found in readings]

    def _inputs(self, pairs: Sequence[Pair]) -> Iterator[tuple[int, int, Code]]:
        """Which pair, which sentence of its claim, and one window with it as the model reads them.

        A pair whose premise or claim is empty has none.
        """
        windows = {premise: self._windows(premise) for premise in {premise for premise, _ in pairs}}
        parts = {claim: self._parts(claim) for claim in {claim for _, claim in pairs}}
        for number, (premise, claim) in enumerate(pairs):
            for place, part in enumerate(parts[claim]):
                for window in _nearest(windows[premise], part):
                    yield number, place, self.encoder.pair(window, part)

    def _windows(self, premise: str) -> list[list[int]]:
        """Runs of sentences that fit a window, each beginning with the last sentence of the one before."""
        most = int(self.encoder.manifest["judge"]["window_tokens"])
        windows: list[list[int]] = []
        current: list[list[int]] = []
        for ids in self.encoder.tokenize(split_sentences(readable(premise))):
            for start in range(0, max(1, len(ids)), most):  # a sentence longer than a window is cut
                piece = ids[start : start + most]
                if current and sum(map(len, current)) + len(piece) > most:
                    windows.append([token for part in current for token in part])
                    last = current[-1]
                    current = [last] if len(last) + len(piece) <= most else []
                current.append(piece)
        if current:
            windows.append([token for part in current for token in part])
        return windows

    def _parts(self, claim: str) -> list[list[int]]:
        """The sentences of a claim, each at most `_CLAIM_TOKENS` long; a question belongs to what follows it."""
        sentences: list[str] = []
        for sentence in split_sentences(readable(claim)):
            if sentences and sentences[-1].endswith("?"):
                sentences[-1] += f" {sentence}"
            else:
                sentences.append(sentence)
        parts = []
        for ids in self.encoder.tokenize(sentences):
            parts += [ids[start : start + _CLAIM_TOKENS] for start in range(0, len(ids), _CLAIM_TOKENS)]
        return parts


def combine(probabilities: NDArray[np.float64] | None, claim_rows: Sequence[Sequence[int]]) -> Entailment:
    """Best window of each sentence, worst sentence of the claim; no claim or no premise is neutral."""
    if probabilities is None or not all(claim_rows):
        return _NEUTRAL
    readings = []
    for rows in claim_rows:
        best = probabilities[list(rows)].max(axis=0).tolist()
        readings.append(_Reading(best[0], best[2], len(rows)))
    return _conclude(readings)


def _conclude(readings: Sequence[_Reading], easing: float = 0.0) -> Entailment:
    if not readings:
        return _NEUTRAL
    support = min(reading.support for reading in readings)
    against = max(reading.against * (1 - reading.support) for reading in readings)
    # The worst of many sentences is low by chance alone; a little, and only so much, is given back.
    support = _ease(support, easing * math.log(min(len(readings), MOST_EASED)))
    against = min(against, 1.0 - support)
    return Entailment(support, max(0.0, 1.0 - support - against), against)


def _ease(probability: float, by: float) -> float:
    """The probability whose log-odds are higher by `by`; certainty stays certainty."""
    if not 0.0 < probability < 1.0 or by == 0.0:
        return probability
    return 1 / (1 + (1 - probability) / probability * math.exp(-by))


def _nearest(windows: Sequence[Sequence[int]], part: Sequence[int]) -> Sequence[Sequence[int]]:
    """The windows to read a sentence beside: all, or of a whole book those that share most of its tokens, in order."""
    if len(windows) <= _MOST_WINDOWS:
        return windows
    wanted = set(part)
    held = [wanted.intersection(window) for window in windows]
    spread = Counter(token for tokens in held for token in tokens)
    worth = {token: math.log(1 + len(windows) / count) for token, count in spread.items()}  # a rare word says more
    order = sorted(range(len(windows)), key=lambda row: -sum(worth[token] for token in held[row]))
    return [windows[row] for row in sorted(order[:_MOST_WINDOWS])]
