"""The relevance scorer with its raw scores kept on disk: a run that was stopped goes on, and another one is free."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from veridical.models.pairs import Pair
from veridical.models.relevance import Relevance

_SLICE = 256  # pairs between two writes


class Scored:
    """A cross-scorer. What it keeps does not depend on the calibration, which may change without a new model."""

    def __init__(self, scratch: Path, name: str, relevance: Relevance | None = None) -> None:
        self.relevance = relevance or Relevance()
        self.file = scratch / f"relevance-{name}-{self.relevance.encoder.fingerprint}.jsonl"
        self._known: dict[str, float] = {}
        if self.file.exists():
            lines = self.file.read_text("utf-8").splitlines()
            self._known = dict(map(json.loads, lines))

    async def score(self, pairs: Sequence[Pair]) -> Sequence[float]:
        return self.score_now(pairs)

    def score_now(self, pairs: Sequence[Pair]) -> list[float]:
        keys = [_key(pair) for pair in pairs]
        missing = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in self._known}
        waiting = list(missing.items())
        for start in range(0, len(waiting), _SLICE):
            part = waiting[start : start + _SLICE]
            self._keep(
                dict(zip((key for key, _ in part), self.relevance.logits([pair for _, pair in part]), strict=True))
            )
        return [self.relevance.probability(self._known[key]) for key in keys]

    def _keep(self, found: dict[str, float]) -> None:
        with self.file.open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps([key, round(logit, 5)]) + "\n" for key, logit in found.items())
        self._known |= found


def _key(pair: Pair) -> str:
    text = json.dumps(pair).encode()
    return hashlib.blake2b(text, digest_size=12).hexdigest()
