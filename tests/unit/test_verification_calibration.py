"""From a risk to a threshold, with numbers worked by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from veridical.errors import ConfigError
from veridical.verification import Policy, fit, load, measure
from veridical.verification.calibration import CONFIDENCE, LEVELS, find_aurc, find_ece

GOOD = [(0.9, True)] * 300 + [(0.6, True)] * 80 + [(0.6, False)] * 20 + [(0.2, True)] * 30 + [(0.2, False)] * 70


def test_the_threshold_keeps_the_risk_at_the_most_coverage() -> None:
    calibration = fit(GOOD)
    strict, middle, loose = calibration.curve
    assert [point.threshold for point in calibration.curve] == [0.9, 0.6, 0.2]
    assert [point.coverage for point in calibration.curve] == [0.6, 0.8, 1.0]
    assert [point.risk for point in calibration.curve] == [0.0, 20 / 400, 90 / 500]
    assert calibration.threshold_for(0.05) == 0.9  # 20 of 400 is 5 %, but 400 claims cannot vouch for 5 %
    assert middle.risk is not None
    assert strict.bound < 0.05 < middle.risk + 0.01 < middle.bound < 0.1
    assert calibration.threshold_for(0.10) == 0.6
    assert calibration.threshold_for(0.30) == 0.2
    assert loose.accuracy == pytest.approx(0.82)
    Policy(threshold=calibration.threshold_for(0.05))


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    rare = (1 - CONFIDENCE) / LEVELS
    # None wrong of n: the risk p at which that happens rarely is where (1-p)^n = rare.
    assert measure([(0.9, True)] * 100, 0.5).bound == pytest.approx(1 - rare ** (1 / 100), abs=1e-6)
    # All wrong: any risk up to certainty is possible. One wrong of two: 1 - p² = rare.
    assert measure([(0.9, False)] * 3, 0.5).bound == 1.0
    assert measure([(0.9, False), (0.9, True)], 0.5).bound == pytest.approx((1 - rare) ** 0.5, abs=1e-6)


def test_a_risk_that_cannot_be_kept_says_what_can() -> None:
    with pytest.raises(ConfigError, match=r"at most 0\.1% cannot be kept.*500 labelled claims.*showing 60%") as caught:
        fit(GOOD).threshold_for(0.001)
    assert "accept a risk of 1.8%" in caught.value.fix


def test_the_risk_that_the_error_offers_can_be_kept() -> None:
    assert fit(GOOD).threshold_for(0.018) == 0.9


@pytest.mark.parametrize("risk", [0.0, 1.0, -0.1, float("nan")])
def test_a_risk_that_is_no_share_is_refused(risk: float) -> None:
    with pytest.raises(ConfigError, match="no target"):
        fit(GOOD).threshold_for(risk)


def test_showing_nothing_covers_nothing_and_has_no_accuracy() -> None:
    point = measure(GOOD, 0.95)
    assert (point.coverage, point.risk, point.accuracy, point.bound) == (0.0, None, None, 1.0)


def test_claims_without_any_support_are_never_shown() -> None:
    calibration = fit([(0.0, True)] * 1000)
    assert calibration.curve == ()
    with pytest.raises(ConfigError, match="above zero"):
        calibration.threshold_for(0.5)


def test_the_area_under_the_curve() -> None:
    # Risks of the best 1, 2, 3, 4: 0, 0, 1/3, 1/4.
    assert find_aurc([(0.9, True), (0.8, True), (0.7, False), (0.6, True)]) == pytest.approx((1 / 3 + 1 / 4) / 4)
    # A tie of one right and one wrong counts half a wrong one each: 1/2, 1/2.
    assert find_aurc([(0.5, False), (0.5, True)]) == find_aurc([(0.5, True), (0.5, False)]) == 0.5


def test_the_calibration_error() -> None:
    # Bin 0.9–1: scores 0.95 and 1.0, one right: |1.95 - 1| = 0.95. Bin 0.2–0.3: 0.25 and 0.25, none right: 0.5.
    pairs = [(0.95, True), (1.0, False), (0.25, False), (0.25, False)]
    assert find_ece(pairs) == pytest.approx((0.95 + 0.5) / 4)
    assert find_ece([(0.75, True)] * 3 + [(0.75, False)]) == 0.0


@pytest.mark.parametrize("pairs", [[], [(1.5, True)], [(float("nan"), True)], [(-0.1, False)]])
def test_what_cannot_be_calibrated_on_is_refused(pairs: list[tuple[float, bool]]) -> None:
    with pytest.raises(ConfigError):
        fit(pairs)


def test_it_is_saved_and_loaded_without_loss(tmp_path: Path) -> None:
    calibration = fit([(0.1 + 0.0001 * n, n % 7 > 0) for n in range(500)], judge="judge-1")
    calibration.save(tmp_path / "c.json")
    assert load(tmp_path / "c.json") == calibration


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "other"}, "is no calibration"),
        ({"format": 99}, "of format 99"),
        ({"curve": [{"threshold": 0.5}]}, "damaged"),
        ({"curve": 7}, "damaged"),
        ({"claims": "many"}, "damaged"),
        ({"aurc": float("nan")}, "damaged"),
        ({"curve": [{"threshold": t, "coverage": 0.5, "risk": 0.1, "bound": 0.2} for t in (0.1, 0.9)]}, "order"),
        ({"curve": [{"threshold": 0.0, "coverage": 0.5, "risk": 0.1, "bound": 0.2}]}, "damaged"),
    ],
)
def test_a_foreign_or_damaged_file_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    file = tmp_path / "c.json"
    fit(GOOD).save(file)
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(ConfigError, match=message) as caught:
        load(file)
    assert caught.value.fix


@pytest.mark.parametrize("content", [None, "", "{", "[]", '"text"', "\x00"])
def test_a_file_that_is_missing_or_no_json_is_refused(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "c.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError):
        load(file)
