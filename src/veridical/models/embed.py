"""The embedder that ships with the package: all-MiniLM-L6-v2, 8-bit, run by onnxruntime.

A batch holds texts of one token count, so nothing is padded and a text's vector is the same to the last bit
whatever else is embedded beside it. Each batch runs on one core; several batches run at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.errors import ModelUnavailable
from veridical.models.onnx import open_session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    from veridical.ports import Vectors

WEIGHTS = Path(__file__).parent / "weights" / "minilm"
_REINSTALL = (
    "reinstall the package; in a checkout: restore the file with git, then pip install --force-reinstall --no-deps ."
)
_BATCH_TOKENS = 1024  # larger batches are no faster and need more memory
_SLICE_TEXTS = 64  # how much one caller embeds before another gets its turn
_CLS_AND_SEP = 2


class _Request(NamedTuple):
    texts: Sequence[str]
    vectors: Future[Vectors]


class MiniLm:
    """Text → 384 numbers of length one. Texts longer than `max_tokens` are cut.

    Loads on first use. Raises ModelUnavailable when the weights are missing or damaged.
    """

    def __init__(self, threads: int | None = None, weights: Path = WEIGHTS, max_tokens: int = 256) -> None:
        self.threads = threads or _cores()
        self.weights = weights
        self.max_tokens = max_tokens
        self._waiting: deque[_Request] = deque()
        self._loading = threading.Lock()  # since Python 3.12 a cached property may be computed by two threads at once

    # ── the port ─────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def fingerprint(self) -> str:
        files = "".join(entry["sha256"] for _, entry in sorted(self._manifest["files"].items()))
        identity = f"{files} {self._manifest['pooling']} {self.max_tokens}"
        return f"minilm-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"

    @property
    def dimensions(self) -> int:
        return int(self._manifest["dimensions"])

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order. Callers take turns, and those that wait together are embedded together."""
        import numpy as np

        parts = [np.empty((0, self.dimensions), np.float32)]
        for start in range(0, len(texts), _SLICE_TEXTS):
            request = _Request(texts[start : start + _SLICE_TEXTS], Future())
            self._waiting.append(request)
            with self._loading:
                worker = self._worker
            worker.submit(self._serve_waiting)
            parts.append(await asyncio.wrap_future(request.vectors))
        return np.concatenate(parts)

    # ── plain functions ──────────────────────────────────────────────────────────────────────────

    def embed_now(self, texts: Sequence[str]) -> Vectors:
        """The same as `embed`, in the calling thread and its helpers."""
        import numpy as np

        vectors = np.empty((len(texts), self.dimensions), np.float32)
        batches = list(self._batches(self._encode(texts)))
        # A single query is not worth the way to another thread and back.
        with self._loading:
            map_batches = self._pool.map if len(batches) > 1 else map
        results = map_batches(self._run, [ids for _, ids in batches])
        for (rows, _), result in zip(batches, results, strict=True):
            vectors[rows] = result
        return vectors

    def token_counter(self) -> Callable[[Sequence[str]], list[int]]:
        """A function that counts each text's tokens, without the two that the model adds to every text."""

        def count(texts: Sequence[str]) -> list[int]:
            return [len(ids) - _CLS_AND_SEP for ids in self._tokenize(texts)]

        return count

    @property
    def tokenizer_path(self) -> Path:
        """Raises ModelUnavailable when it is missing: whoever is given the path could not say how to mend that."""
        return self._check_size("tokenizer.json")

    def verify_weights(self) -> Mapping[str, str]:
        """The SHA-256 of every file of the model, computed now. Raises ModelUnavailable when one is not as built."""
        found = {}
        for name, entry in self._manifest["files"].items():
            self._check_size(name)
            with (self.weights / name).open("rb") as content:
                found[name] = hashlib.file_digest(content, "sha256").hexdigest()
            if found[name] != entry["sha256"]:
                raise ModelUnavailable(f"{self.weights / name} is damaged", fix=_REINSTALL)
        return found

    # ── inside ───────────────────────────────────────────────────────────────────────────────────

    def _serve_waiting(self) -> None:
        taken: list[_Request] = []
        while self._waiting:
            request = self._waiting.popleft()
            if request.vectors.set_running_or_notify_cancel():
                taken.append(request)
        if not taken:
            return  # an earlier round took this request along
        try:
            vectors = self.embed_now([text for request in taken for text in request.texts])
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to those who wait
            for request in taken:
                request.vectors.set_exception(error)
            return
        start = 0
        for request in taken:
            request.vectors.set_result(vectors[start : start + len(request.texts)])
            start += len(request.texts)

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        most = self.max_tokens
        return [ids if len(ids) <= most else [*ids[: most - 1], ids[-1]] for ids in self._tokenize(texts)]

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        # A lone surrogate (from a badly decoded file name, say) is no text that a tokenizer can read.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        with self._loading:
            tokenizer = self._tokenizer
        return [code.ids for code in tokenizer.encode_batch_fast(clean)]

    def _batches(self, codes: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], NDArray[np.int32]]]:
        """Row numbers and token ids of texts of one length, the longest first so that no core ends late."""
        import numpy as np

        by_length: dict[int, list[int]] = {}
        for row, code in enumerate(codes):
            by_length.setdefault(len(code), []).append(row)
        for length in sorted(by_length, reverse=True):
            rows, size = by_length[length], max(1, _BATCH_TOKENS // length)
            for start in range(0, len(rows), size):
                batch = rows[start : start + size]
                yield batch, np.array([codes[row] for row in batch], np.int32)

    def _run(self, ids: NDArray[np.int32]) -> Vectors:
        with self._loading:
            session = self._session
        vectors: Vectors = session.run(None, {"input_ids": ids})[0]
        return vectors

    @cached_property
    def _worker(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, thread_name_prefix="embed")

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads, thread_name_prefix="embed-core")

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        try:
            manifest: dict[str, Any] = json.loads((self.weights / "manifest.json").read_text())
        except (OSError, ValueError) as error:
            raise ModelUnavailable(f"the embedder's manifest cannot be read: {error}", fix=_REINSTALL) from error
        return manifest

    def _check_size(self, name: str) -> Path:
        path = self.weights / name
        if not path.is_file():
            raise ModelUnavailable(f"{path} is missing", fix=_REINSTALL)
        expected, size = self._manifest["files"][name]["bytes"], path.stat().st_size
        if size != expected:
            raise ModelUnavailable(f"{path} has {size} bytes instead of {expected}", fix=_REINSTALL)
        return path

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        path = self._check_size("tokenizer.json")
        try:
            return Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises nothing narrower
            raise ModelUnavailable(f"{path} cannot be loaded: {error}", fix=_REINSTALL) from error

    @cached_property
    def _session(self) -> InferenceSession:
        return open_session(self._check_size("model.onnx"), _REINSTALL)


def _cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
