"""Scores every set once with a trained cross-encoder, then calibrates on the dev set and computes the figures.

`score` needs the model and a GPU; `calibrate` and `measure` only read what it wrote.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.checks import find_findings
from veridical.checks.weight import odds
from veridical.models.cross import FORMAT, Code, CrossEncoder, LocalJudge
from veridical.models.judge import MOST_EASED
from veridical.training import judge_data as rows_of
from veridical.training import relevance_data
from veridical.training.judge_tests import (
    TESTS,
    area_under_roc,
    best_threshold,
    calibration_error,
    figures_of,
    hallucination_f1,
    load_test,
    macro_accuracy,
    swap_test,
)

TOKENIZER = Path(__file__).parents[1] / "models" / "weights" / "minilm" / "tokenizer.json"
MAX_TOKENS = 320
SEED = 7
WINDOWS = (110, 220)  # tokens of a premise read at once: tried by `calibrate`
DEV = "dev"
EASING = 0.3  # half of what joined dev claims ask for (docs/results/LOG.md): padding must not carry a false sentence


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
    return {
        "format": FORMAT,
        "outputs": list(rows_of.OUTPUTS),
        "max_tokens": MAX_TOKENS,
        "judge": {"temperature": 1.0, "threshold": 0.5, "window_tokens": WINDOWS[-1], **calibration.get("judge", {})},
        "relevance": {"slope": 1.0, "offset": 0.0, **calibration.get("relevance", {})},
    }


# ── the sets ─────────────────────────────────────────────────────────────────────────────────────


@dataclass
class LabelledSet:
    pairs: list[tuple[str, str]]
    supported: NDArray[np.int64]
    sources: list[str]


def load_sets(data: Path, only: Sequence[str] = ()) -> dict[str, LabelledSet]:
    """The dev set and every test set."""
    corpus = rows_of.read_corpus(data)
    dev = rows_of.dev_rows(data, corpus, Random(SEED))  # noqa: S311 - not for secrets
    sets = {
        DEV: LabelledSet(
            [(premise, claim) for premise, claim, _, _ in dev],
            np.array([int(label == rows_of.ENTAILED) for _, _, label, _ in dev]),
            [source for _, _, _, source in dev],
        ),
    }
    for name, test in TESTS.items():
        if not only or name in only:
            pairs, supported = load_test(data, test)
            sets[name] = LabelledSet(pairs, supported, [name] * len(pairs))
    pairs, supported, kinds = swap_test(corpus)
    sets["swaps"] = LabelledSet(pairs, supported, kinds)
    return sets


def relevance_sets(data: Path) -> dict[str, list[rows_of.Row]]:
    """SQuAD 2 articles that training never saw, held-out PopQA pairs, SelQA's test sentences."""
    squad = [row for row in rows_of.read(data / "qa_eval" / "squad2_dev_half") if rows_of.share(row["title"]) < 0.2]
    selqa = rows_of.read(data / "retrieval" / "rerank" / "selqa_test")
    return {
        "squad2": [
            rows_of.Row(row["question"], row["context"], rows_of.IRRELEVANT + bool(row["answerable"]), "squad")
            for row in squad
        ],
        "popqa": list(relevance_data.popqa_pairs(data, held_out=True)),
        "selqa": [rows_of.Row(r["question"], r["passage"], rows_of.IRRELEVANT + r["label"], "selqa") for r in selqa],
    }


# ── score ────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Scored:
    """The logits of distinct inputs, and which inputs make up which part of which pair."""

    logits: NDArray[np.float32]
    pair: NDArray[np.int32]
    part: NDArray[np.int32]
    code: NDArray[np.int32]

    def support(self, judge: Mapping[str, Any]) -> NDArray[np.float64]:
        """One score a pair: the best window of each part, the worst part, eased by how many there are."""
        scaled = self.logits[:, :3].astype(np.float64) / judge["temperature"]
        odds = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        entailed = (odds / odds.sum(axis=1, keepdims=True))[:, 0].clip(1e-6, 1 - 1e-6)
        parts, places = np.unique(self.pair.astype(np.int64) * 65536 + self.part, return_inverse=True)
        best = np.zeros(len(parts))
        np.maximum.at(best, places, entailed[self.code])
        pairs, first, count = np.unique(parts // 65536, return_index=True, return_counts=True)
        worst = np.minimum.reduceat(best, first)
        eased = np.exp(-judge.get("easing", 0.0) * np.log(np.minimum(count, MOST_EASED)))
        scores = np.zeros(int(self.pair.max()) + 1)  # a pair without a claim or a premise has no support
        scores[pairs] = 1 / (1 + (1 - worst) / worst * eased)
        return scores


def score(data: Path, work: Path, name: str, device: str) -> None:
    """Writes the logits of every set at every window, and those of relevance, to `NAME.scores.npz`."""
    written: dict[str, NDArray[Any]] = {}
    sets = load_sets(data)
    for window in WINDOWS:
        judge = LocalJudge(
            TorchEncoder(work / f"{name}.npz", settings_of({"judge": {"window_tokens": window}}), device)
        )
        for title, labelled in sets.items():
            codes, plan = judge.plan(labelled.pairs)
            places = [(p, q, c) for p, parts in enumerate(plan) for q, rows in enumerate(parts) for c in rows]
            written[f"{title}|{window}|logits"] = judge.encoder.logits(codes).astype(np.float16)
            written[f"{title}|{window}|places"] = np.array(places, np.int32)
    for title, rows in relevance_sets(data).items():
        encoder = TorchEncoder(work / f"{name}.npz", settings_of({}), device)
        ids = [encoder.tokenize([row.first for row in rows]), encoder.tokenize([row.second for row in rows])]
        codes = [encoder.pair(one, other) for one, other in zip(*ids, strict=True)]
        written[f"relevance|{title}"] = encoder.logits(codes)[:, 3]
    np.savez_compressed(work / f"{name}.scores.npz", **written)  # type: ignore[arg-type] # its stub forgets **


def read_scores(work: Path, name: str, window: int) -> dict[str, Scored]:
    stored = np.load(work / f"{name}.scores.npz")
    found = {}
    for key in stored.files:
        title, _, kind = key.rpartition(f"|{window}|")
        if kind == "logits":
            places = stored[f"{title}|{window}|places"]
            found[title] = Scored(stored[key], places[:, 0], places[:, 1], places[:, 2])
    return found


# ── calibrate ────────────────────────────────────────────────────────────────────────────────────

# Sources of nli_dev that check a claim against a passage, as the judge does; the others are pairs of sentences.
_CLAIMS = ("fever", "scitail", "climate_fever", "covid_fact", "healthver", "scifact", "fool_me_twice", "wice",
           "begin", "expertqa", "attributionbench")  # fmt: skip
_TEMPERATURES = (0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0)


def calibrate(data: Path, work: Path, name: str) -> dict[str, Any]:
    """Temperature, window and threshold from the dev set; relevance's from unseen SQuAD articles."""
    dev = load_sets(data, only=["none"])[DEV]
    # The checks stand beside the judge when its word is shown, so the threshold is chosen with them.
    weights = np.array([odds(find_findings(claim, premise)) for premise, claim in dev.pairs])
    tried = [{"window_tokens": window} | _try(read_scores(work, name, window)[DEV], dev, weights) for window in WINDOWS]
    best = max(tried, key=lambda one: float(one["dev"]))
    found = {
        "tried": tried,
        "judge": {key: best[key] for key in ("window_tokens", "temperature", "threshold")} | {"easing": EASING},
        "relevance": _fit_relevance(data, work, name),
    }
    (work / f"{name}.calibration.json").write_text(json.dumps(found, indent=1))
    return found


def _try(scored: Scored, dev: LabelledSet, weights: NDArray[Any]) -> dict[str, Any]:
    """The temperature with the smallest log loss, then the threshold that is best for the sources that check claims."""

    def scores(temperature: float) -> NDArray[Any]:
        plain = scored.support({"temperature": temperature}).clip(1e-6, 1 - 1e-6)
        return np.asarray(1 / (1 + np.exp(weights - np.log(plain / (1 - plain)))))

    def loss(temperature: float) -> float:
        values, y = scores(temperature), dev.supported
        return float(-np.mean(np.where(y == 1, np.log(values), np.log(1 - values))))

    temperature = min(_TEMPERATURES, key=loss)
    found = scores(temperature)
    threshold, accuracy = best_threshold(
        lambda at: macro_accuracy(found, dev.supported, dev.sources, at, _CLAIMS),
    )
    error = calibration_error(scored.support({"temperature": temperature}), dev.supported)
    return {
        "temperature": temperature, "threshold": threshold, "dev": round(accuracy, 4), "ece": round(error, 4)
    }  # fmt: skip


def _fit_relevance(data: Path, work: Path, name: str) -> dict[str, float]:
    """Slope and offset (Platt) on SQuAD articles that training never saw."""
    x = np.load(work / f"{name}.scores.npz")["relevance|squad2"].astype(np.float64)
    y = np.array([row.label == rows_of.RELEVANT for row in relevance_sets(data)["squad2"]])
    slope, offset = 1.0, 0.0
    for _ in range(3000):
        gap = 1 / (1 + np.exp(-np.clip(slope * x + offset, -30, 30))) - y
        slope, offset = slope - 0.05 * float((gap * x).mean()), offset - 0.05 * float(gap.mean())
    return {"slope": round(slope, 4), "offset": round(offset, 4)}


# ── measure ──────────────────────────────────────────────────────────────────────────────────────


def measure(data: Path, work: Path, name: str) -> dict[str, Any]:
    """Every figure of the float32 model on every set."""
    calibration = json.loads((work / f"{name}.calibration.json").read_text())
    judge, sets = calibration["judge"], load_sets(data)
    figures: dict[str, Any] = {}
    for title, scored in read_scores(work, name, judge["window_tokens"]).items():
        scores, supported = scored.support(judge), sets[title].supported
        figures[title] = figures_of(scores, supported, judge["threshold"])
        if title == "RAGTruth-QA":
            figures[title]["hallucination_f1"] = hallucination_f1(scores, supported, judge["threshold"])
        for kind in ("number", "name") if title == "swaps" else ():
            part = np.array(sets[title].sources) == kind
            figures[f"swaps-{kind}"] = figures_of(scores[part], supported[part], judge["threshold"])
    ten = [title for title, test in TESTS.items() if test.averaged]
    figures["mean"] = {
        key: round(float(np.mean([figures[title][key] for title in ten])), 4)
        for key in ("balanced_accuracy", "best", "auc")
    }
    relevance = _measure_relevance(data, work, name, calibration)
    found = {"calibration": calibration, "judge": figures, "relevance": relevance}
    (work / f"{name}.float32.json").write_text(json.dumps(found, indent=1))
    return found


def _measure_relevance(data: Path, work: Path, name: str, calibration: Mapping[str, Any]) -> dict[str, Any]:
    fitted, stored = calibration["relevance"], np.load(work / f"{name}.scores.npz")
    figures: dict[str, Any] = {}
    for title, rows in relevance_sets(data).items():
        scores = 1 / (1 + np.exp(-(fitted["slope"] * stored[f"relevance|{title}"] + fitted["offset"])))
        right = np.array([row.label == rows_of.RELEVANT for row in rows])
        figures[title] = relevance_figures(rows, scores, right)
    return figures


def relevance_figures(rows: Sequence[rows_of.Row], scores: NDArray[Any], right: NDArray[Any]) -> dict[str, Any]:
    """Of pairs, and of whole retrievals as CRAG counts them: is any passage right?"""
    questions: dict[str, tuple[float, bool]] = {}
    for row, value, relevant in zip(rows, scores, right, strict=True):
        best, any_right = questions.get(row.first, (0.0, False))
        questions[row.first] = (max(best, float(value)), any_right or bool(relevant))
    agree = [(best >= 0.5) == any_right for best, any_right in questions.values()]
    return {
        "n": len(rows),
        "relevant": round(float(right.mean()), 4),
        "accuracy": round(float(((scores >= 0.5) == right).mean()), 4),
        "auc": round(area_under_roc(scores, right.astype(int)), 4),
        "ece": round(calibration_error(scores, right.astype(int)), 4),
        "questions": len(agree),
        "question_accuracy": round(float(np.mean(agree)), 4),
    }


def summary(figures: Mapping[str, Any]) -> str:
    """The judge's figures as lines, relevance's as JSON."""
    lines = [
        f"{name:22s} {f['balanced_accuracy']:.4f} best {f['best']:.4f} auc {f.get('auc', '')} ece {f.get('ece', '')}"
        for name, f in figures["judge"].items()
    ]
    return "\n".join([*lines, json.dumps(figures["relevance"])])
