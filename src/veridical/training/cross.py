"""A trained cross-encoder at work: one 22M-parameter model that reads two texts together. (None ships yet.)

`LocalJudge` asks it whether a passage carries a claim, `Relevance` whether a passage answers a question. A long
passage is read in overlapping windows of whole sentences, and the best window counts; a claim of several
sentences is only as good as its least supported one. A batch holds pairs of one token count, so a score is the
same whatever else is scored beside it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from veridical.errors import ModelUnavailable
from veridical.models.onnx import open_session
from veridical.text.sentences import split_sentences
from veridical.types import Entailment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

FORMAT = 1  # of the manifest and of the graph's inputs and outputs
_TRAIN_AGAIN = "make them with `python -m veridical.training.judge all`"
_BATCH_TOKENS = 1024
_SLICE_PAIRS = 128  # what is held in memory at once, and what one caller does before another gets its turn
_REMEMBERED = 20_000  # scores kept
_CLS, _SEP = 101, 102
_CLAIM_TOKENS = 96
_MAX_WINDOWS = 4096  # of one passage: some 500,000 words

_Value = TypeVar("_Value")


class Code(NamedTuple):
    """A pair as the model reads it: [CLS] first [SEP] second [SEP]; the second part starts at `split`."""

    ids: tuple[int, ...]
    split: int


class CrossEncoder:
    """Pairs of texts → the model's raw outputs (logits). Loads on first use.

    Raises ModelUnavailable when the weights are missing, damaged or of another version, or answer with nonsense.
    """

    def __init__(self, weights: Path, threads: int | None = None) -> None:
        self.threads = threads or _cores()
        self.weights = weights

    @cached_property
    def fingerprint(self) -> str:
        return f"cross-{self.manifest['files']['model.onnx']['sha256'][:12]}"

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text, without the model's own marks."""
        # A lone surrogate (from a badly decoded file name, say) is no text that a tokenizer can read.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        return [code.ids for code in self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)]

    def pair(self, first: Sequence[int], second: Sequence[int]) -> Code:
        """One input; what does not fit is cut from the end of the second text, then of the first."""
        second = second[: self.max_tokens - 3]
        first = first[: self.max_tokens - 3 - len(second)]
        return Code((_CLS, *first, _SEP, *second, _SEP), len(first) + 2)

    def logits(self, codes: Sequence[Code]) -> NDArray[np.float32]:
        """One row a code, in order. Runs in the calling thread and its helpers."""
        import numpy as np

        results = np.empty((len(codes), len(self.manifest["outputs"])), np.float32)
        batches = list(_batches(codes))
        map_batches = self._pool.map if len(batches) > 1 else map
        for rows, values in zip(batches, map_batches(self._run, [[codes[r] for r in b] for b in batches]), strict=True):
            results[rows] = values
        if not np.isfinite(results).all():
            raise ModelUnavailable(
                f"{self.weights / 'model.onnx'} answered with something that is no number", fix=_TRAIN_AGAIN
            )
        return results

    def verify_weights(self) -> Mapping[str, str]:
        """The SHA-256 of every file of the model, computed now. Raises ModelUnavailable when one is not as built."""
        found = {}
        for name, entry in self.manifest["files"].items():
            with self._file(name).open("rb") as content:
                found[name] = hashlib.file_digest(content, "sha256").hexdigest()
            if found[name] != entry["sha256"]:
                raise ModelUnavailable(f"{self.weights / name} is damaged", fix=_TRAIN_AGAIN)
        return found

    # ── inside ───────────────────────────────────────────────────────────────────────────────────

    def _run(self, codes: Sequence[Code]) -> NDArray[np.float32]:
        import numpy as np

        ids = np.array([code.ids for code in codes], np.int32)
        split = np.array([[code.split] for code in codes], np.int32)
        types = (np.arange(ids.shape[1], dtype=np.int32) >= split).astype(np.int32)
        values: NDArray[np.float32] = self._session.run(None, {"input_ids": ids, "token_type_ids": types})[0]
        return values

    @cached_property
    def manifest(self) -> dict[str, Any]:
        try:
            manifest: dict[str, Any] = json.loads((self.weights / "manifest.json").read_text())
        except (OSError, ValueError) as error:
            raise ModelUnavailable(f"the judge's manifest cannot be read: {error}", fix=_TRAIN_AGAIN) from error
        if manifest.get("format") != FORMAT:
            found = manifest.get("format")
            raise ModelUnavailable(
                f"{self.weights} is of format {found}, this version reads {FORMAT}", fix=_TRAIN_AGAIN
            )
        return manifest

    @property
    def max_tokens(self) -> int:
        return int(self.manifest["max_tokens"])

    def _file(self, name: str) -> Path:
        path = self.weights / name
        expected, size = self.manifest["files"][name]["bytes"], path.stat().st_size if path.is_file() else 0
        if size != expected:
            raise ModelUnavailable(f"{path} has {size} bytes instead of {expected}", fix=_TRAIN_AGAIN)
        return path

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads, thread_name_prefix="judge-core")

    @cached_property
    def worker(self) -> ThreadPoolExecutor:
        """The one thread that all scorers of this model share: the loop stays free, and callers take turns."""
        return ThreadPoolExecutor(1, thread_name_prefix="judge")

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        path = self._file(self.manifest["tokenizer"])
        try:
            return Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises nothing narrower
            raise ModelUnavailable(f"{path} cannot be loaded: {error}", fix=_TRAIN_AGAIN) from error

    @cached_property
    def _session(self) -> InferenceSession:
        return open_session(self._file("model.onnx"), _TRAIN_AGAIN)


class _Remembered(Generic[_Value]):
    """Scores by the content of their pair, the least recently used forgotten first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._values: OrderedDict[bytes, _Value] = OrderedDict()

    def fill(
        self, pairs: Sequence[tuple[str, str]], compute: Callable[[list[tuple[str, str]]], Sequence[_Value]]
    ) -> list[_Value]:
        """A value a pair; only distinct pairs that are not remembered are computed."""
        keys = [_digest(pair) for pair in pairs]
        missing = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in self._values}
        found = dict(zip(missing, compute(list(missing.values())), strict=True)) if missing else {}
        values = [found[key] if key in found else self._values[key] for key in keys]
        self._values.update(found)
        for key in keys:
            self._values.move_to_end(key)
        while len(self._values) > self.most:
            self._values.popitem(last=False)
        return values


def _digest(pair: tuple[str, str]) -> bytes:
    first, second = (text.encode("utf-8", "replace") for text in pair)
    return hashlib.blake2b(len(first).to_bytes(8, "big") + first + second, digest_size=16).digest()


# ── the ports ────────────────────────────────────────────────────────────────────────────────────


class LocalJudge:
    """Does the passage carry the claim? English only. `threshold` is where support was found to begin."""

    def __init__(self, encoder: CrossEncoder) -> None:
        self.encoder = encoder
        self._remembered: _Remembered[Entailment] = _Remembered(_REMEMBERED)

    @property
    def threshold(self) -> float:
        return float(self.encoder.manifest["judge"]["threshold"])

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        """One distribution a (premise, claim), in order. Raises ModelUnavailable."""
        loop = asyncio.get_running_loop()
        found: list[Entailment] = []
        for start in range(0, len(pairs), _SLICE_PAIRS):
            found += await loop.run_in_executor(
                self.encoder.worker, self.entail_now, pairs[start : start + _SLICE_PAIRS]
            )
        return found

    def entail_now(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """The same as `entail`, in the calling thread and its helpers."""
        return self._remembered.fill(pairs, self._entail)

    def _entail(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        codes, plan = self.plan(pairs)
        probabilities = self.probabilities(self.encoder.logits(codes)) if codes else None
        return [combine(probabilities, rows) for rows in plan]

    def plan(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[Code], list[list[list[int]]]]:
        """The distinct inputs, and for each pair, for each sentence of its claim, the rows of its windows."""
        windows = self._windows({premise for premise, _ in pairs})
        claims = self._claims({claim for _, claim in pairs})
        codes: dict[Code, int] = {}
        rows: list[list[list[int]]] = []
        for premise, claim in pairs:
            rows.append(
                [
                    [codes.setdefault(self.encoder.pair(window, part), len(codes)) for window in windows[premise]]
                    for part in claims[claim]
                ]
            )
        return list(codes), rows

    def probabilities(self, logits: NDArray[np.float32]) -> NDArray[np.float64]:
        """Entailment, neutral, contradiction of each row, after temperature scaling."""
        import numpy as np

        scaled = logits[:, :3].astype(np.float64) / self.encoder.manifest["judge"]["temperature"]
        odds = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        values: NDArray[np.float64] = odds / odds.sum(axis=1, keepdims=True)
        return values

    def _windows(self, premises: set[str]) -> dict[str, list[list[int]]]:
        most = int(self.encoder.manifest["judge"]["window_tokens"])
        return {premise: self._cut(split_sentences(premise), most) for premise in premises}

    def _cut(self, sentences: Sequence[str], most: int) -> list[list[int]]:
        """Runs of sentences of at most `most` tokens, each beginning with the last sentence of the one before."""
        windows: list[list[int]] = []
        current: list[list[int]] = []
        for ids in self.encoder.tokenize(sentences):
            for start in range(0, max(1, len(ids)), most):  # a sentence longer than a window is cut
                piece = ids[start : start + most]
                if current and sum(map(len, current)) + len(piece) > most:
                    windows.append([token for part in current for token in part])
                    last = current[-1]
                    current = [last] if len(last) + len(piece) <= most else []
                current.append(piece)
        if current:
            windows.append([token for part in current for token in part])
        return windows[:_MAX_WINDOWS]

    def _claims(self, claims: set[str]) -> dict[str, list[list[int]]]:
        return {claim: self._parts(claim) for claim in claims}

    def _parts(self, claim: str) -> list[list[int]]:
        """The sentences of a claim, each at most `_CLAIM_TOKENS` long; a question belongs to what follows it."""
        sentences: list[str] = []
        for sentence in split_sentences(claim):
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
    if probabilities is None or not claim_rows or not all(claim_rows):
        return Entailment(0.0, 1.0, 0.0)
    support = min(max(float(probabilities[row, 0]) for row in rows) for rows in claim_rows)
    against = max(
        max(float(probabilities[row, 2]) for row in rows) * (1 - max(float(probabilities[row, 0]) for row in rows))
        for rows in claim_rows
    )
    against = min(against, 1.0 - support)
    return Entailment(support, max(0.0, 1.0 - support - against), against)


class Relevance:
    """How likely the passage holds the answer to the question, 0..1; `2 * p - 1` is CRAG's scale."""

    def __init__(self, encoder: CrossEncoder) -> None:
        self.encoder = encoder
        self._remembered: _Remembered[float] = _Remembered(_REMEMBERED)

    async def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """One probability a (question, passage), in order. Raises ModelUnavailable."""
        loop = asyncio.get_running_loop()
        found: list[float] = []
        for start in range(0, len(pairs), _SLICE_PAIRS):
            found += await loop.run_in_executor(
                self.encoder.worker, self.score_now, pairs[start : start + _SLICE_PAIRS]
            )
        return found

    def score_now(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The same as `score`, in the calling thread and its helpers."""
        return self._remembered.fill(pairs, self._score)

    def _score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        settings = self.encoder.manifest["relevance"]
        column = self.encoder.manifest["outputs"].index("relevance")
        ids = dict(
            zip(texts := sorted({text for pair in pairs for text in pair}), self.encoder.tokenize(texts), strict=True)
        )
        most = self.encoder.max_tokens
        codes: list[Code] = []
        rows: list[list[int]] = []
        for question, passage in pairs:
            room = most - 3 - min(len(ids[question]), most // 2)
            starts = range(0, max(1, len(ids[passage])), room)
            rows.append([len(codes) + number for number in range(len(starts))])
            codes += [
                self.encoder.pair(ids[question][: most // 2], ids[passage][start : start + room]) for start in starts
            ]
        if not codes:
            return []
        logits = self.encoder.logits(codes)[:, column]
        return [max(_logistic(float(logits[row]), settings) for row in found) for found in rows]


def _logistic(logit: float, settings: Mapping[str, float]) -> float:
    value = settings["slope"] * logit + settings["offset"]
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0


def _batches(codes: Sequence[Code]) -> Iterator[list[int]]:
    """Row numbers of codes of one length, the longest first so that no core ends late."""
    by_length: dict[int, list[int]] = {}
    for row, code in enumerate(codes):
        by_length.setdefault(len(code.ids), []).append(row)
    for length in sorted(by_length, reverse=True):
        rows, size = by_length[length], max(1, _BATCH_TOKENS // length)
        for start in range(0, len(rows), size):
            yield rows[start : start + size]


def _cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
