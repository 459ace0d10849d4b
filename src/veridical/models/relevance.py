"""Does this passage hold the answer to this question? The same cross-encoder as the judge, its fourth output."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

from veridical.models.cross_encoder import Code, CrossEncoder
from veridical.models.pairs import Pair, Remembered, slices

_SLICE_PAIRS = 128  # what one caller does before another gets its turn


class Relevance:
    """How likely the passage holds the answer to the question, 0..1; `2 * p - 1` is CRAG's scale.

    A passage longer than the model reads at once is read in pieces, and the best piece counts.
    """

    def __init__(self, encoder: CrossEncoder | None = None) -> None:
        self.encoder = encoder or CrossEncoder()
        self._remembered: Remembered[float] = Remembered()

    async def score(self, pairs: Sequence[Pair]) -> Sequence[float]:
        """One probability a (question, passage), in order. Raises ModelUnavailable."""
        loop = asyncio.get_running_loop()
        found: list[float] = []
        for part in slices(pairs, _SLICE_PAIRS):
            found += await loop.run_in_executor(self.encoder.worker, self.score_now, part)
        return found

    def score_now(self, pairs: Sequence[Pair]) -> list[float]:
        """The same as `score`, in the calling thread and its helpers."""
        return [self.probability(logit) for logit in self.logits(pairs)]

    def logits(self, pairs: Sequence[Pair]) -> list[float]:
        """What the model says of each pair before calibration, in order. Raises ModelUnavailable."""
        known, missing = self._remembered.look_up(pairs)
        new = dict(zip(missing, self._read(missing), strict=True))
        self._remembered.keep(new)
        known |= new
        return [known[pair] for pair in pairs]

    def probability(self, logit: float) -> float:
        """A logit on the calibrated scale, 0..1; it keeps the order."""
        settings = self.encoder.manifest["relevance"]
        value = settings["slope"] * logit + settings["offset"]
        return float(1 / (1 + math.exp(-value))) if value > -700 else 0.0

    def _read(self, pairs: Sequence[Pair]) -> list[float]:
        if not pairs:
            return []
        column = self.encoder.manifest["outputs"].index("relevance")
        texts = sorted({text for pair in pairs for text in pair})
        ids = dict(zip(texts, self.encoder.tokenize(texts), strict=True))
        codes: list[Code] = []
        rows: list[range] = []
        for question, passage in pairs:
            pieces = self._pieces(ids[question], ids[passage])
            rows.append(range(len(codes), len(codes) + len(pieces)))
            codes += pieces
        logits = self.encoder.logits(codes)[:, column]
        return [max(float(logits[row]) for row in found) for found in rows]

    def _pieces(self, question: Sequence[int], passage: Sequence[int]) -> list[Code]:
        most = self.encoder.max_tokens
        question = question[: most // 2]
        room = most - 3 - len(question)
        starts = range(0, max(1, len(passage)), room)
        return [self.encoder.pair(question, passage[start : start + room]) for start in starts]
