"""`judge`: does the shipped 8-bit judge find out which claims a passage carries? One threshold for every set.

The logits of every set are kept in the scratch folder under the model's fingerprint, so that a second run, or one
with another threshold, takes seconds. `--scratch/judge/float32.npz` (what `veridical.training.judge score` wrote for
the same weights) is compared with where it is there.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Setup, data_folder
from benchmarks.report import AT_LEAST, AT_MOST, Figure, Section, Table
from veridical.checks import find_findings
from veridical.checks.weight import lower
from veridical.models.cross import LocalJudge
from veridical.training.judge_measure import DEV, LabelledSet, Scored, load_sets
from veridical.training.judge_tests import TESTS, figures_of, hallucination_f1
from veridical.verification.calibration import Point, measure

_QUICK = ("FeverSymmetric", "Breaking-NLI")
_SIDES = {"FeverSymmetric": 80.0, "MNLI": 82.0, "Breaking-NLI": 90.0, "swaps": 90.0}
_TEN = tuple(name for name, test in TESTS.items() if test.averaged)
_LEVELS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_MOST_CHARACTERS = 3_000_000  # of premises in one set: a longer set is thinned evenly, or it would take an hour
_ALIKE = 60  # pairs of a set on which the cached logits and the judge itself must agree


def run(setup: Setup) -> Section:
    judge = LocalJudge()
    wanted = _QUICK if setup.quick else (*_TEN, *_SIDES)
    sets = {name: _thin(found) for name, found in load_sets(data_folder()).items() if name in {*wanted, DEV}}
    cache = setup.scratch / "judge" / judge.encoder.fingerprint
    cache.mkdir(parents=True, exist_ok=True)
    settings = judge.encoder.manifest["judge"]
    plain: dict[str, NDArray[Any]] = {}
    for name in sorted(sets, key=lambda name: sum(len(premise) for premise, _ in sets[name].pairs)):
        plain[name] = _scored(judge, sets[name], cache / f"{name}.npz").support(settings)
        _agree(judge, sets[name], plain[name])
        print(f"  {name}", flush=True)
    checked = {name: _checked(sets[name], scores) for name, scores in plain.items()}
    exact = _float32(setup.scratch / "judge" / "float32.npz", settings, sets)
    return _section(judge, sets, plain, checked, exact)


def _thin(labelled: LabelledSet) -> LabelledSet:
    step = _step(labelled)
    return LabelledSet(labelled.pairs[::step], labelled.supported[::step], labelled.sources[::step])


def _step(labelled: LabelledSet) -> int:
    return math.ceil(sum(len(premise) for premise, _ in labelled.pairs) / _MOST_CHARACTERS)


def _scored(judge: LocalJudge, labelled: LabelledSet, file: Path) -> Scored:
    if not file.exists():
        codes, plan = judge.plan(labelled.pairs)
        places = [(p, q, c) for p, parts in enumerate(plan) for q, rows in enumerate(parts) for c in rows]
        logits = np.concatenate([judge.encoder.logits(codes[at : at + 512]) for at in range(0, len(codes), 512)])
        partial = file.with_suffix(".partial.npz")
        np.savez_compressed(partial, logits=logits, places=np.array(places, np.int32))
        partial.rename(file)
    stored = np.load(file)
    return Scored(stored["logits"], *stored["places"].T)


def _agree(judge: LocalJudge, labelled: LabelledSet, scores: NDArray[Any]) -> None:
    """Raises when the figures would not be those of the judge that ships."""
    some = range(0, len(labelled.pairs), max(1, len(labelled.pairs) // _ALIKE))
    said = [found.entailment for found in judge.entail_now([labelled.pairs[row] for row in some])]
    gap = float(np.abs(np.array(said) - scores[list(some)]).max())
    if gap > 1e-3:
        raise AssertionError(f"the judge and the cached logits differ by {gap:.4f}: delete the scratch folder")


def _checked(labelled: LabelledSet, scores: NDArray[Any]) -> NDArray[Any]:
    """The scores after the deterministic checks, as `verify --pairs` reports them."""
    found = (find_findings(claim, premise) for premise, claim in labelled.pairs)
    return np.array([lower(float(score), findings) for score, findings in zip(scores, found, strict=True)])


def _float32(file: Path, settings: dict[str, Any], sets: dict[str, LabelledSet]) -> dict[str, NDArray[Any]]:
    """The scores of the unquantised model for the same rows."""
    if not file.exists():
        return {}
    stored, window = np.load(file), settings["window_tokens"]
    found = {}
    for name, labelled in sets.items():
        scores = Scored(stored[f"{name}|{window}|logits"], *stored[f"{name}|{window}|places"].T).support(settings)
        found[name] = scores[:: round(len(scores) / len(labelled.pairs))]
    return found


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def _section(
    judge: LocalJudge,
    sets: dict[str, LabelledSet],
    plain: dict[str, NDArray[Any]],
    checked: dict[str, NDArray[Any]],
    exact: dict[str, NDArray[Any]],
) -> Section:
    def accuracy(scores: dict[str, NDArray[Any]], name: str) -> float:
        return 100 * float(figures_of(scores[name], sets[name].supported, judge.threshold)["balanced_accuracy"])

    ten = [name for name in _TEN if name in plain]
    figures = []
    if len(ten) == len(_TEN):
        strangers = [name for name in ten if not TESTS[name].in_domain]
        mean = float(np.mean([accuracy(checked, name) for name in ten]))
        figures += [
            Figure("mean of the ten sets, judge and checks", mean, "%", AT_LEAST, 71),
            Figure("mean of the ten sets, judge alone", float(np.mean([accuracy(plain, name) for name in ten])), "%"),
            Figure(
                f"mean of the {len(strangers)} sets that share no source with training, judge and checks",
                float(np.mean([accuracy(checked, name) for name in strangers])),
                "%",
            ),
            Figure("RAGTruth answer-level F1", _f1(checked, sets, judge.threshold)),
        ]
    figures += [
        Figure(f"{name}, judge alone", accuracy(plain, name), "%", AT_LEAST, target)
        for name, target in _SIDES.items()
        if name in plain
    ]
    error = float(figures_of(plain[DEV], sets[DEV].supported, judge.threshold)["ece"])
    figures.append(Figure("expected calibration error on the development set", error, "", AT_MOST, 0.05))
    if exact:
        loss = [accuracy(exact, name) - accuracy(plain, name) for name in exact]
        figures.append(Figure("loss of 8 bits, mean over the sets", float(np.mean(loss)), "points", AT_MOST, 0.5))
        figures.append(Figure("loss of 8 bits, largest of a set", float(np.max(loss)), "points"))
    rows = tuple(_row(name, sets[name], plain[name], checked[name], judge.threshold) for name in plain if name != DEV)
    return Section(
        name="judge",
        title="The local judge",
        page="judge",
        how=f"Balanced accuracy of the shipped 8-bit model at one threshold, {judge.threshold}, chosen on nli_dev "
        "with its premises lengthened by distractors. `best` is what the best threshold of each set would give, "
        "which nobody has. Sets marked * make up the mean.",
        figures=tuple(figures),
        tables=(
            Table(("set", "n", "in domain", "judge", "with checks", "best", "AUC", "ECE"), rows),
            Table(("threshold", "coverage", "accuracy of what is shown", "risk"), _curve(sets, checked, ten)),
        ),
        notes=(
            f"Sets whose premises are longer than {_MOST_CHARACTERS:,} characters together are thinned evenly.",
            "In domain: training rows share the set's source, never its claims.",
            "The second table pools the sets of the mean; claims at or above a threshold are shown, the others not.",
            "A judge that shows nothing has no accuracy.",
        ),
    )


def _f1(checked: dict[str, NDArray[Any]], sets: dict[str, LabelledSet], threshold: float) -> float:
    return hallucination_f1(checked["RAGTruth-QA"], sets["RAGTruth-QA"].supported, threshold)


def _row(
    name: str, labelled: LabelledSet, plain: NDArray[Any], checked: NDArray[Any], threshold: float
) -> tuple[str, ...]:
    alone = figures_of(plain, labelled.supported, threshold)
    both = figures_of(checked, labelled.supported, threshold)
    test = TESTS.get(name)
    return (
        f"{name}*" if test and test.averaged else name,
        str(both["n"]),
        "yes" if test and test.in_domain else "",
        f"{100 * alone['balanced_accuracy']:.1f}",
        f"{100 * both['balanced_accuracy']:.1f}",
        f"{100 * both['best']:.1f}",
        f"{both['auc']:.3f}",
        f"{both['ece']:.3f}",
    )


def _curve(
    sets: dict[str, LabelledSet], checked: dict[str, NDArray[Any]], names: list[str]
) -> tuple[tuple[str, ...], ...]:
    pairs = [
        (float(score), bool(right))
        for name in names or list(checked)
        for score, right in zip(checked[name], sets[name].supported, strict=True)
    ]
    points: list[Point] = [measure(pairs, level) for level in _LEVELS]
    return tuple(
        (
            f"{point.threshold:.2f}",
            f"{100 * point.coverage:.1f} %",
            "–" if point.accuracy is None else f"{100 * point.accuracy:.1f} %",
            "–" if point.risk is None else f"{100 * point.risk:.1f} %",
        )
        for point in points
    )
