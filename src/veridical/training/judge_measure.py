"""Calibrates a trained cross-encoder on the dev set and measures it, in float32, through the code that ships."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.training import judge_data as rows_of
from veridical.training.cross import FORMAT, Code, CrossEncoder, LocalJudge, Relevance, combine

TOKENIZER = Path(__file__).parents[1] / "models" / "weights" / "minilm" / "tokenizer.json"
MAX_TOKENS = 320
SEED = 7
WINDOWS = (110, 220)  # tokens of a premise read at once: tried by `calibrate`


class TorchEncoder(CrossEncoder):
    """The same cross-encoder, run in float32 by torch: what the 8-bit model is compared with."""

    def __init__(self, state: Path, settings: Mapping[str, Any], device: str) -> None:
        super().__init__(state.parent, threads=1)
        self.state, self.settings, self.device = state, settings, device

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return {
            **self.settings,
            "tokenizer": TOKENIZER.name,
            "files": {TOKENIZER.name: {"bytes": TOKENIZER.stat().st_size}},
        }

    def _file(self, name: str) -> Path:
        return TOKENIZER.with_name(name)

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
    """Temperature, window and threshold from the lengthened dev set; relevance's from unseen SQuAD articles."""
    from veridical.training.judge_tests import best_threshold, calibration_error

    corpus = rows_of.read_corpus(data)
    dev = rows_of.dev_rows(data, corpus, Random(SEED))  # noqa: S311 - not for secrets
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
            **encoder.manifest["judge"], "threshold": round(threshold, 2),
            "dev_macro_balanced_accuracy": round(accuracy, 4), "dev_ece": round(error, 4),
        }  # fmt: skip
        found["tried"].append(tried)
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
        rows_of.Row(row["question"], row["context"], rows_of.IRRELEVANT + bool(row["answerable"]), "squad")
        for row in rows
    ]


def _fit_relevance(data: Path, work: Path, name: str, device: str) -> dict[str, float]:
    """Slope and offset (Platt) on SQuAD articles that training never saw."""
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
        sets["selqa"] = [
            rows_of.Row(r["question"], r["passage"], rows_of.IRRELEVANT + r["label"], "selqa") for r in found
        ]
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


def summary(figures: Mapping[str, Any]) -> str:
    """The judge's figures as lines, relevance's as JSON."""
    lines = [
        f"{name:22s} {f['balanced_accuracy']:.4f} best {f['best']:.4f} auc {f.get('auc', '')} ece {f.get('ece', '')}"
        for name, f in figures["judge"].items()
    ]
    return "\n".join([*lines, json.dumps(figures["relevance"])])
