"""A trained cross-encoder at work: one 22M-parameter model that reads two texts together, 8-bit, on the CPU.

A batch holds pairs of one token count, so nothing is padded and a score is the same to the last bit whatever
else is scored beside it. Each batch runs on one core; several batches run at once.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.errors import ModelUnavailable
from veridical.models.onnx import open_session
from veridical.models.pairs import readable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

WEIGHTS = Path(__file__).parent / "weights" / "judge"
FORMAT = 1  # of the manifest and of the graph's inputs and outputs
_MEND = (
    "reinstall the package; in a checkout: restore the file with git, then pip install --force-reinstall --no-deps ."
)
_NEEDED = {
    "": ("outputs", "max_tokens", "tokenizer", "files"),
    "judge": ("temperature", "threshold", "window_tokens"),
    "relevance": ("slope", "offset"),
}
_BATCH_TOKENS = 256  # larger batches are no faster, and while one runs on the last core the others wait
_CLS, _SEP = 101, 102


class Code(NamedTuple):
    """A pair as the model reads it: [CLS] first [SEP] second [SEP]; the second part starts at `split`."""

    ids: tuple[int, ...]
    split: int


class CrossEncoder:
    """Pairs of texts → the model's raw outputs (logits). Loads on first use.

    Raises ModelUnavailable when the weights are missing, damaged or of another version, or answer with nonsense.
    """

    def __init__(self, weights: Path = WEIGHTS, threads: int | None = None) -> None:
        self.threads = threads or _cores()
        self.weights = weights
        self._loading = threading.Lock()  # since Python 3.12 a cached property may be computed by two threads at once

    @cached_property
    def fingerprint(self) -> str:
        return f"cross-{self.manifest['files']['model.onnx']['sha256'][:12]}"

    @property
    def max_tokens(self) -> int:
        return int(self.manifest["max_tokens"])

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text, without the model's own marks."""
        clean = [readable(text) for text in texts]
        with self._loading:
            tokenizer = self._tokenizer
        return [code.ids for code in tokenizer.encode_batch_fast(clean, add_special_tokens=False)]

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
        with self._loading:
            map_batches = self._pool.map if len(batches) > 1 else map
        for rows, values in zip(batches, map_batches(self._run, [[codes[r] for r in b] for b in batches]), strict=True):
            results[rows] = values
        if not np.isfinite(results).all():
            raise ModelUnavailable(
                f"{self.weights / 'model.onnx'} answered with something that is no number", fix=_MEND
            )
        return results

    def verify_weights(self) -> Mapping[str, str]:
        """The SHA-256 of every file of the model, computed now. Raises ModelUnavailable when one is not as built."""
        for name in self.manifest["files"]:
            self._check(name)
        return {name: entry["sha256"] for name, entry in self.manifest["files"].items()}

    @cached_property
    def manifest(self) -> dict[str, Any]:
        try:
            manifest: dict[str, Any] = json.loads((self.weights / "manifest.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelUnavailable(f"the judge's manifest cannot be read: {error}", fix=_MEND) from error
        found = manifest.get("format") if isinstance(manifest, dict) else None
        if found != FORMAT:
            raise ModelUnavailable(f"{self.weights} is of format {found}, this version reads {FORMAT}", fix=_MEND)
        for section, keys in _NEEDED.items():
            lacking = set(keys) - set(manifest.get(section, ()) if section else manifest)
            if lacking:
                raise ModelUnavailable(f"the judge's manifest lacks {', '.join(sorted(lacking))}", fix=_MEND)
        if not _is_sane(manifest):
            raise ModelUnavailable("the judge's manifest holds numbers that cannot be", fix=_MEND)
        return manifest

    @cached_property
    def worker(self) -> ThreadPoolExecutor:
        """The one thread that all scorers of this model share: the loop stays free, and callers take turns."""
        return ThreadPoolExecutor(1, thread_name_prefix="judge")

    # ── inside ───────────────────────────────────────────────────────────────────────────────────

    def _run(self, codes: Sequence[Code]) -> NDArray[np.float32]:
        import numpy as np

        ids = np.array([code.ids for code in codes], np.int32)
        split = np.array([[code.split] for code in codes], np.int32)
        types = (np.arange(ids.shape[1], dtype=np.int32) >= split).astype(np.int32)
        with self._loading:
            session = self._session
        values: NDArray[np.float32] = session.run(None, {"input_ids": ids, "token_type_ids": types})[0]
        return values

    def _file(self, name: str) -> Path:
        path = self.weights / name
        if not path.is_file():
            raise ModelUnavailable(f"{path} is missing", fix=_MEND)
        expected, size = self.manifest["files"][name]["bytes"], path.stat().st_size
        if size != expected:
            raise ModelUnavailable(f"{path} has {size} bytes instead of {expected}", fix=_MEND)
        return path

    def _check(self, name: str) -> Path:
        path = self._file(name)
        with path.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != self.manifest["files"][name]["sha256"]:
                raise ModelUnavailable(f"{path} is damaged", fix=_MEND)
        return path

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads, thread_name_prefix="judge-core")

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        path = self._check(self.manifest["tokenizer"])
        try:
            return Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises nothing narrower
            raise ModelUnavailable(f"{path} cannot be loaded: {error}", fix=_MEND) from error

    @cached_property
    def _session(self) -> InferenceSession:
        # A flipped bit in the weights can leave a model that loads and answers wrongly; the check takes 30 ms.
        return open_session(self._check("model.onnx"), _MEND)


def _is_sane(manifest: Mapping[str, Any]) -> bool:
    """Whether its numbers can be: with a threshold of 0, or NaN, everything or nothing would be supported."""
    judge, relevance = manifest["judge"], manifest["relevance"]
    numbers = (judge["threshold"], judge["temperature"], relevance["slope"], relevance["offset"])
    if not all(isinstance(number, (int, float)) and math.isfinite(number) for number in numbers):
        return False
    return bool(0.0 < judge["threshold"] <= 1.0 and judge["temperature"] > 0.0 and judge["window_tokens"] > 0)


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
