"""From the setting `verify.judge` to a judge."""

from __future__ import annotations

import pytest

from veridical.errors import ConfigError
from veridical.models.fake import FakeGenerator
from veridical.models.judge import LocalJudge
from veridical.models.judge_hf import HfJudge
from veridical.models.judge_llm import LlmJudge
from veridical.models.judging import choose_judge
from veridical.models.verbatim import Verbatim
from veridical.settings import Settings, load


def settings(**verify: object) -> Settings:
    return load({f"verify.{key}": value for key, value in verify.items()}, {}).settings  # type: ignore[misc]


def test_the_local_judge_is_the_default() -> None:
    assert isinstance(choose_judge(settings(), None), LocalJudge)


def test_a_judge_is_chosen_by_name() -> None:
    assert isinstance(choose_judge(settings(judge="verbatim"), None), Verbatim)
    chosen = choose_judge(settings(judge="hf:some/model"), None)
    assert isinstance(chosen, HfJudge)
    assert (chosen.name, chosen.download) == ("some/model", False)
    allowed = choose_judge(settings(judge="hf:C:/models/nli", download=True), None)
    assert isinstance(allowed, HfJudge)
    assert (allowed.name, allowed.download) == ("C:/models/nli", True)


def test_a_language_model_judges_with_its_votes() -> None:
    chosen = choose_judge(settings(judge="llm", votes=5), FakeGenerator({}))
    assert isinstance(chosen, LlmJudge)
    assert chosen.votes == 5


def test_without_a_language_model_there_is_no_llm_judge() -> None:
    with pytest.raises(ConfigError, match="no language model") as caught:
        choose_judge(settings(judge="llm"), None)
    assert "--llm" in caught.value.fix


@pytest.mark.parametrize("name", ["gpt", "hf:", "hf", "Local", "", "local:x", "llm:3"])
def test_an_unknown_judge_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="no judge named") as caught:
        choose_judge(settings(judge=name), FakeGenerator({}))
    assert "local, llm, hf:NAME_OR_FOLDER or verbatim" in caught.value.fix


@pytest.mark.parametrize(
    ("key", "value"), [("risk", 0.0), ("risk", 1.0), ("risk", "high"), ("votes", 0), ("threshold", 1.5)]
)
def test_values_out_of_range_are_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"verify.{key}"):
        settings(**{key: value})


def test_the_environment_sets_a_risk() -> None:
    assert load({}, {"VERIDICAL_VERIFY__RISK": "0.05"}).settings.verify.risk == 0.05
    assert load({}, {}).settings.verify.risk is None
