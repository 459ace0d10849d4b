"""The labelled sets the judge is measured on, and the measures. Nothing here is used to train or to choose."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.training import edits
from veridical.training.judge_data import Corpus, read


class Test(NamedTuple):
    file: str
    averaged: bool = False  # one of the ten sets of the mean
    in_domain: bool = False  # training rows share its source (never its claims)


TESTS = {
    "AttributionBench-OOD": Test("attr_attributionbench_ood", True, True),
    "ExpertQA": Test("attr_expertqa_test", True, True),
    "LFQA": Test("attr_lfqa_verification", True),
    "WiCE-oracle": Test("attr_wice_oracle_test", True, True),
    "Factcheck-GPT": Test("fc_factcheck_gpt", True),
    "RAGTruth-QA": Test("rag_ragtruth_qa_test", True),
    "HaluEval-QA": Test("rag_halueval_qa", True, True),
    "SummEdits": Test("sum_summedits", True),
    "QAGS": Test("sum_qags", True, True),
    "BEGIN": Test("dlg_begin_wow_test", True, True),
    "FeverSymmetric": Test("fc_fever_symmetric_test", False, True),
    "MNLI": Test("nli_mnli_val", False, True),
    "Breaking-NLI": Test("nli_breaking"),
    "FEVER": Test("fc_fever_dev", False, True),
    "Fool-me-twice": Test("fc_fool_me_twice_test", False, True),
    "WiCE-full": Test("attr_wice_test", False, True),
    "AttributionBench-ID": Test("attr_attributionbench_id500", False, True),
    "AVeriTeC": Test("fc_averitec_dev"),
    "HealthVer": Test("fc_healthver_test"),
    "Climate-FEVER": Test("fc_climate_fever"),
    "COVID-Fact": Test("fc_covid_fact"),
    "SciFact": Test("fc_scifact_dev"),
    "PubHealth": Test("fc_pubhealth"),
    "FaithBench": Test("sum_faithbench"),
    "Q2": Test("dlg_q2"),
    "ANLI": Test("nli_anli_dev"),
    "LingNLI": Test("nli_lingnli_val"),
    "CAD-NLI": Test("nli_cad_test", False, True),
    "ConjNLI": Test("nli_conj_dev", False, True),
    "ConTRoL": Test("nli_control_test"),
    "MED": Test("nli_med"),
}
SMALL = 20  # rows: a source of the dev set with fewer does not count towards its mean


def load_test(data: Path, test: Test) -> tuple[list[tuple[str, str]], NDArray[np.int64]]:
    """(premise, claim) pairs and whether each is supported. RAGTruth: whole answers; HaluEval: question and answer."""
    rows = read(data / "verifier" / "eval" / test.file)
    if test.file == "rag_halueval_qa":
        answers = ("right_answer", "hallucinated_answer")
        pairs = [(row["premise"], f"{row['question'].strip()} {row[name]}") for row in rows for name in answers]
        return pairs, np.array([1, 0] * len(rows))
    claims = [row.get("hypothesis") or row["response"] for row in rows]
    pairs = [(row["premise"], claim) for row, claim in zip(rows, claims, strict=True)]
    return pairs, np.array([row["supported"] for row in rows])


def swap_test(corpus: Corpus, most: int = 3000) -> tuple[list[tuple[str, str]], NDArray[np.int64], list[str]]:
    """Sentences of held-out passages, as they stand and with two digits exchanged or half a name replaced."""
    rng = Random(5)  # noqa: S311 - not for secrets
    names = [name for name in corpus.names if len(name.split()) == 2]
    pairs: list[tuple[str, str]] = []
    kinds: list[str] = []
    for row in corpus.held_out:
        text = " ".join(row["text"].split())
        sentences = [s for s in edits.split(text) if 6 <= len(s.split()) <= 50]
        for sentence in rng.sample(sentences, min(2, len(sentences))):
            kind = rng.choice(["number", "name"])
            swapped = _transpose(sentence, rng) if kind == "number" else _mix(sentence, names, rng)
            if swapped and swapped not in text:
                pairs += [(text, sentence), (text, swapped)]
                kinds += [kind, kind]
    return pairs[:most], np.array([1, 0] * (len(pairs) // 2))[:most], kinds[:most]


def _transpose(sentence: str, rng: Random) -> str | None:
    """Two neighbouring digits exchanged: 1987 becomes 1978, the 12th the 21st's number."""
    places = [
        m.start() for m in re.finditer(r"(\d)(?=(\d))", sentence) if sentence[m.start()] != sentence[m.start() + 1]
    ]
    # A number of four digits keeps its first, so that a year stays one that might have been.
    places = [at for at in places if not re.match(r"(?<!\d)\d{4}(?!\d)", sentence[at:]) and sentence[at + 1] != "0"]
    if not places:
        return None
    at = rng.choice(places)
    return f"{sentence[:at]}{sentence[at + 1]}{sentence[at]}{sentence[at + 2 :]}"


def _mix(sentence: str, names: Sequence[str], rng: Random) -> str | None:
    """The second word of a two-word name replaced by that of another name."""
    found = [name for name in edits.names_in(sentence) if re.fullmatch(r"\w+ \w+", name)]
    if not found:
        return None
    name = rng.choice(found)
    first, last = name.split()
    other = rng.choice(names).split()[1]
    return sentence.replace(name, f"{first} {other}") if other != last else None


# ── measures ─────────────────────────────────────────────────────────────────────────────────────


def balanced_accuracy(scores: NDArray[Any], supported: NDArray[Any], threshold: float) -> float:
    said = scores >= threshold
    return float((said[supported == 1].mean() + (~said[supported == 0]).mean()) / 2)


def area_under_roc(scores: NDArray[Any], supported: NDArray[Any]) -> float:
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    for value in np.unique(scores):  # ties share their mean rank
        tied = scores == value
        if tied.sum() > 1:
            ranks[tied] = ranks[tied].mean()
    positive = int((supported == 1).sum())
    return float((ranks[supported == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(scores) - positive)))


def calibration_error(scores: NDArray[Any], supported: NDArray[Any], bins: int = 10) -> float:
    """Expected calibration error: the mean gap between score and share of supported, bins of equal width."""
    places = np.minimum((scores * bins).astype(int), bins - 1)
    gaps = [
        abs(scores[places == b].mean() - supported[places == b].mean()) * (places == b).mean()
        for b in range(bins)
        if (places == b).any()
    ]
    return float(sum(gaps))


def macro_accuracy(
    scores: NDArray[Any], supported: NDArray[Any], sources: Sequence[str], threshold: float, only: tuple[str, ...]
) -> float:
    """Balanced accuracy over the sources of a pooled set whose names begin as given, each counting the same."""
    names = np.array(sources)
    values = []
    for name in sorted(set(sources)):
        part = names == name
        if name.startswith(only) and part.sum() >= SMALL and 0 < supported[part].sum() < part.sum():
            values.append(balanced_accuracy(scores[part], supported[part], threshold))
    return float(np.mean(values))


def best_threshold(accuracy: Callable[[float], float]) -> tuple[float, float]:
    """(threshold, accuracy there, smoothed): the middle of the best run of thresholds."""
    steps = np.linspace(0.05, 0.95, 91)
    values = np.array([accuracy(float(step)) for step in steps])
    smooth = np.convolve(np.pad(values, 3, mode="edge"), np.ones(7) / 7, "valid")
    return round(float(steps[smooth.argmax()]), 2), float(smooth.max())


def figures_of(scores: NDArray[Any], supported: NDArray[Any], threshold: float) -> dict[str, Any]:
    steps = np.linspace(0.01, 0.99, 99)
    values = [balanced_accuracy(scores, supported, step) for step in steps]
    return {
        "n": len(scores),
        "balanced_accuracy": round(balanced_accuracy(scores, supported, threshold), 4),
        "best": round(max(values), 4),
        "best_at": round(float(steps[int(np.argmax(values))]), 2),
        "auc": round(area_under_roc(scores, supported), 4),
        "ece": round(calibration_error(scores, supported), 4),
    }


def hallucination_f1(scores: NDArray[Any], supported: NDArray[Any], threshold: float) -> float:
    """F1 of finding what is not supported."""
    said, right = scores < threshold, supported == 0
    return round(float(2 * (said & right).sum() / max(1, said.sum() + right.sum())), 4)
