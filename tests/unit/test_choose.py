"""From the setting to a model: what is said of a script that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from veridical.errors import ConfigError
from veridical.models.choose import choose_model
from veridical.models.fake import FakeEmbedder
from veridical.settings import Settings


@pytest.mark.parametrize("script", ['["a", "b"]', '"text"', '{"key": 3}', "{", "3"])
def test_a_script_of_another_shape_is_refused(tmp_path: Path, script: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(script)
    with pytest.raises(ConfigError, match=r"script\.json") as refusal:
        choose_model(Settings(llm=f"fake:{file}"), FakeEmbedder())
    assert "JSON object" in refusal.value.fix
