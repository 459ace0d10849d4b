"""From a risk in the settings to a threshold: only by a calibration of the judge that is in use."""

from __future__ import annotations

from pathlib import Path

import pytest

from veridical.engine import Engine, name_judge
from veridical.errors import ConfigError
from veridical.models.judge import LocalJudge
from veridical.models.verbatim import Verbatim
from veridical.settings import Settings, VerifySettings
from veridical.verification.calibration import fit

SCORED = [(0.9, True)] * 300 + [(0.1, False)] * 100


def engine(path: Path, judge: str = "verbatim") -> Engine:
    return Engine(Settings(verify=VerifySettings(judge=judge, risk=0.05, calibration=str(path))))


def test_the_threshold_is_that_of_the_risk(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    fit(SCORED, "verbatim").save(path)
    assert engine(path).policy.threshold == 0.9


@pytest.mark.parametrize("fitted", ["local", "local:cross-0123456789ab", "hf:some/model", ""])
def test_a_calibration_of_another_judge_is_refused_with_what_to_do(tmp_path: Path, fitted: str) -> None:
    path = tmp_path / "calibration.json"
    fit(SCORED, fitted).save(path)
    with pytest.raises(ConfigError, match=r"fitted with .* in use is verbatim") as caught:
        _ = engine(path).policy
    assert "--calibrate" in caught.value.fix


def test_the_shipped_judge_is_named_by_its_weights() -> None:
    judge = LocalJudge()
    judge.encoder.__dict__["fingerprint"] = "cross-1"
    assert name_judge(Settings(), judge) == "local:cross-1"
    assert name_judge(Settings(verify=VerifySettings(judge="hf:a/b#1")), Verbatim()) == "hf:a/b#1"
    llm = Settings(llm="openai:small", verify=VerifySettings(judge="llm"))
    assert name_judge(llm, Verbatim()) == "llm:openai:small"
