"""From a risk a person accepts ("at most 5 % wrong claims shown") to the threshold that keeps it.

Fitted on labelled claims: the score each got, and whether its sources really support it. At a threshold, the claims
that score at least as much are shown. Coverage is the share of all claims that are shown, risk the share of wrong
ones among those shown. Accuracy never stands alone: showing nothing covers nothing, and has no accuracy at all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, pairwise
from pathlib import Path

from veridical.errors import ConfigError

FORMAT = 1
CONFIDENCE = 0.9  # with which the bounds of all points hold at once, for claims like the labelled ones
LEVELS = 20  # of coverage at which a threshold may be set, chosen without a look at the labels

Scored = tuple[float, bool]  # the score of a claim, and whether its sources really support it

_KIND = "veridical-calibration"
_BINS = 10
_AGAIN = "fit it again: veridical verify --calibrate"


@dataclass(frozen=True, slots=True)
class Point:
    """What showing the claims from `threshold` upwards means. Nothing shown has neither risk nor accuracy."""

    threshold: float
    coverage: float  # share of all claims that are shown
    risk: float | None  # share of wrong ones among those shown
    bound: float  # what the risk of claims like these stays below, with CONFIDENCE

    @property
    def accuracy(self) -> float | None:
        return None if self.risk is None else 1.0 - self.risk


@dataclass(frozen=True, slots=True)
class Calibration:
    """The risk–coverage curve of one judge on labelled claims; points go from the strictest threshold down."""

    claims: int
    curve: tuple[Point, ...]
    aurc: float  # area under the risk–coverage curve of every threshold: 0 is perfect
    ece: float  # expected calibration error of the scores, 10 bins of equal width
    judge: str = ""  # which one it was fitted with; another judge's scores mean something else

    def threshold_for(self, risk: float) -> float:
        """The lowest threshold, so the most coverage, whose risk is bounded by `risk`.

        Raises ConfigError, with the lowest risk that can be had, when there is none.
        """
        if not 0.0 < risk < 1.0:
            raise ConfigError(f"a risk of {risk} is no target", fix="give a share between 0 and 1, such as 0.05")
        kept = [point for point in self.curve if point.bound <= risk]
        if kept:
            return kept[-1].threshold
        best = min(self.curve, key=lambda point: point.bound, default=None)
        if best is None:
            raise ConfigError("no labelled claim scored above zero", fix=f"label other claims, then {_AGAIN}")
        raise ConfigError(
            f"a risk of at most {risk:.1%} cannot be kept: the lowest that {self.claims} labelled claims vouch for is "
            f"{best.bound:.1%}, showing {best.coverage:.0%} of them",
            fix=f"accept a risk of {math.ceil(best.bound * 1000) / 1000:.1%}, or label more claims and {_AGAIN}",
        )

    def save(self, path: Path) -> None:
        content = {"kind": _KIND, "format": FORMAT, **asdict(self)}
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def fit(pairs: Iterable[Scored], judge: str = "") -> Calibration:
    """The calibration of these scored claims, in any order.

    Each bound is exact for its point (Clopper–Pearson: Wilson's interval is too short where errors are few, which is
    where a risk target lies) at 1 - (1 - CONFIDENCE) / LEVELS, so that all hold at once and the best may be picked.
    Raises ConfigError when there is no pair or a score is no probability.
    """
    ranked = sorted(((float(score), bool(right)) for score, right in pairs), key=lambda pair: -pair[0])
    if not ranked:
        raise ConfigError("there are no labelled claims to calibrate on", fix="give at least one, better some hundreds")
    bad = next((score for score, _ in ranked if not 0.0 <= score <= 1.0), None)
    if bad is not None or any(math.isnan(score) for score, _ in ranked):
        raise ConfigError(f"a score of {bad} is no probability", fix="give scores from 0 to 1")
    count = len(ranked)
    levels = {ranked[math.ceil(level * count / LEVELS) - 1][0] for level in range(1, LEVELS + 1)}
    curve = tuple(measure(ranked, t) for t in sorted(levels, reverse=True) if t > 0.0)  # no support is never shown
    return Calibration(count, curve, find_aurc(ranked), find_ece(ranked), judge)


def measure(pairs: Sequence[Scored], threshold: float) -> Point:
    """What this threshold does to these claims."""
    shown = [right for score, right in pairs if score >= threshold]
    if not shown:
        return Point(threshold, 0.0, None, 1.0)
    wrong = shown.count(False)
    return Point(threshold, len(shown) / len(pairs), wrong / len(shown), _upper_bound(wrong, len(shown)))


def find_aurc(pairs: Iterable[Scored]) -> float:
    """The mean risk over showing the best 1, 2, … n claims; within a tie wrong ones count as evenly spread."""
    risks: list[float] = []
    wrong = 0.0
    for _, tied in groupby(sorted(pairs, key=lambda pair: -pair[0]), key=lambda pair: pair[0]):
        group = [not right for _, right in tied]
        for _ in group:
            wrong += sum(group) / len(group)
            risks.append(wrong / (len(risks) + 1))
    return math.fsum(risks) / len(risks)


def find_ece(pairs: Iterable[Scored]) -> float:
    """How far scores are from the share supported, bin by bin, weighted by the claims in each."""
    bins: list[list[Scored]] = [[] for _ in range(_BINS)]
    for score, right in pairs:
        bins[min(int(score * _BINS), _BINS - 1)].append((score, right))
    gaps = (abs(math.fsum(score - right for score, right in some)) for some in bins)
    return math.fsum(gaps) / sum(map(len, bins))


def load(path: Path) -> Calibration:
    """A saved calibration. Raises ConfigError when the file is missing, damaged, of another kind or version."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"the calibration {path} cannot be read: {error}", fix=_AGAIN) from error
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise ConfigError(f"{path} is no calibration", fix=f"name another file, or {_AGAIN}")
    if content.get("format") != FORMAT:
        raise ConfigError(f"{path} is of format {content.get('format')}, this version reads {FORMAT}", fix=_AGAIN)
    try:
        curve = tuple(_point(entry) for entry in content["curve"])
        calibration = Calibration(
            int(content["claims"]), curve, _share(content["aurc"]), _share(content["ece"]), str(content["judge"])
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"the calibration {path} is damaged: {error}", fix=_AGAIN) from error
    if any(a.threshold <= b.threshold or a.coverage > b.coverage for a, b in pairwise(curve)):
        raise ConfigError(f"the calibration {path} is damaged: its curve is out of order", fix=_AGAIN)
    return calibration


def _point(entry: dict[str, float]) -> Point:
    point = Point(*(_share(entry[name]) for name in ("threshold", "coverage", "risk", "bound")))
    if point.threshold == 0.0:
        raise ValueError("a threshold of 0 would show everything")
    return point


def _share(value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0.0 <= value <= 1.0:
        raise ValueError(f"{value!r} is no share")
    return float(value)


def _upper_bound(wrong: int, shown: int) -> float:
    """Clopper–Pearson: the risk at which so few wrong ones among `shown` would be a rare accident."""
    import numpy as np

    if wrong == shown:
        return 1.0
    rare = (1.0 - CONFIDENCE) / LEVELS
    k = np.arange(1, wrong + 1)
    ways = np.concatenate(([0.0], np.cumsum(np.log((shown - k + 1) / k))))  # log of "shown choose k"
    k = np.arange(wrong + 1)
    low, high = wrong / shown, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        terms = ways + k * math.log(middle) + (shown - k) * math.log1p(-middle)
        accident = float(np.exp(terms).sum())
        low, high = (middle, high) if accident > rare else (low, middle)
    return high
