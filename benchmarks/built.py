"""The index of the whole corpus, with synthetic vectors put straight into it; built once and kept in scratch.

Really embedding 100,000 passages takes the best part of an hour on two cores, and neither the scan's time nor
the size on disk depends on what the vectors hold.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.corpus import CHUNK_TOKENS, Corpus
from benchmarks.datasets import Setup
from benchmarks.machine import ROOT
from veridical.corpus import ReadOptions, chunker_fingerprint
from veridical.index.library import Index
from veridical.index.records import Entry, SourceRow
from veridical.models.embed import WEIGHTS, MiniLm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.ports import Embedder, Vectors

_BATCH = 512  # passages a transaction
_CENTRES = 1_000
_SPREAD = 0.045  # of each coordinate around its centre: cosine to the centre about 0.75, as MiniLM's topics have


def read_options() -> ReadOptions:
    """As the engine reads by default."""
    return ReadOptions(chunk_tokens=CHUNK_TOKENS, tokenizer=WEIGHTS / "tokenizer.json")


def clustered(count: int, dimensions: int = 384, seed: int = 1) -> Vectors:
    """Unit vectors around 1,000 random centres."""
    rng = np.random.default_rng(seed)
    centres = _unit(rng.standard_normal((_CENTRES, dimensions), np.float32))
    noise = rng.standard_normal((count, dimensions), np.float32) * np.float32(_SPREAD)
    return _unit(centres[rng.integers(_CENTRES, size=count)] + noise)


def near(points: Vectors, count: int, seed: int = 2) -> Vectors:
    """Queries: randomly chosen points, each moved a little."""
    rng = np.random.default_rng(seed)
    chosen = points[rng.integers(len(points), size=count)]
    return _unit(chosen + rng.standard_normal(chosen.shape, np.float32) * np.float32(_SPREAD / 2))


def _unit(vectors: NDArray[np.float32]) -> Vectors:
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def entries(corpus: Corpus, vectors: Vectors) -> Iterator[Entry]:
    start = 0
    for document, passages in corpus.documents:
        end = start + len(passages)
        yield Entry("/" + document.id.partition("/")[0], document, passages, vectors[start:end])
        start = end


def build(setup: Setup, corpus: Corpus) -> tuple[Path, float]:
    """The folder of the index, and the CPU seconds it took to build (0 when it was there already)."""
    embedder = MiniLm()
    folder = setup.scratch / f"index-{setup.passages}-{_key(corpus, embedder)}"
    if folder.exists():
        return folder, 0.0
    for old in setup.scratch.glob(f"index-{setup.passages}-*"):
        shutil.rmtree(old)
    began = time.process_time()
    temporary = setup.scratch / "index.part"
    shutil.rmtree(temporary, ignore_errors=True)
    fill(temporary, list(entries(corpus, clustered(corpus.size))), embedder)
    temporary.replace(folder)
    return folder, time.process_time() - began


def fill(folder: Path, every: Sequence[Entry], embedder: Embedder) -> None:
    """Puts entries into an index, which is made when it is not there, in transactions of some 500 passages."""
    chunker = chunker_fingerprint(read_options())
    with Index.open(folder, embedder, chunker_fingerprint=chunker, create=True) as index, index.writer() as writer:
        batch: list[Entry] = []
        waiting = 0
        for entry in every:
            batch.append(entry)
            waiting += len(entry.passages)
            if waiting >= _BATCH:
                writer.put(batch)
                batch, waiting = [], 0
        writer.put(batch, [SourceRow(uri) for uri in dict.fromkeys(entry.source for entry in every)])


def _key(corpus: Corpus, embedder: MiniLm) -> str:
    """Changes with the code that writes an index and with what is written."""
    chunker = chunker_fingerprint(read_options())
    parts = f"{corpus.digest} {embedder.fingerprint} {chunker} {_CENTRES} {_SPREAD}"
    digest = hashlib.blake2b(parts.encode(), digest_size=6)
    for file in sorted((ROOT / "src" / "veridical" / "index").glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
