"""Settings: precedence, origins, and refusals that name the nearest key."""

from __future__ import annotations

from pathlib import Path

import pytest

from veridical.errors import ConfigError
from veridical.settings import Settings, load


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "veridical.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_flags_win_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    file = write(tmp_path, 'llm = "smollm2"\n[search]\nk = 3\ncandidates = 30\nmode = "dense"\n')
    env = {"VERIDICAL_SEARCH__K": "4", "VERIDICAL_SEARCH__CANDIDATES": "40"}
    loaded = load({"search.k": 9}, env, file)
    assert (loaded.settings.search.k, loaded.settings.search.candidates) == (9, 40)
    assert (loaded.settings.search.mode, loaded.settings.llm, loaded.settings.chunk.tokens) == ("dense", "smollm2", 200)
    origins = {row.key: row.origin for row in loaded.rows()}
    assert origins["search.k"] == "flag"
    assert origins["search.candidates"] == "VERIDICAL_SEARCH__CANDIDATES"
    assert origins["search.mode"] == str(file)
    assert origins["chunk.tokens"] == "default"


@pytest.mark.parametrize("flags", [{"serch.k": 1}, {"search.kk": 1}])
def test_an_unknown_key_is_refused_with_the_nearest(flags: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=r"did you mean search\.k\?"):
        load(dict(flags), {})


def test_an_unknown_environment_variable_is_refused() -> None:
    with pytest.raises(ConfigError, match="VERIDICAL_INDX"):
        load({}, {"VERIDICAL_INDX": "kb"})


def test_a_value_of_the_wrong_type_names_its_key_and_origin() -> None:
    with pytest.raises(ConfigError, match=r"search\.k \(VERIDICAL_SEARCH__K\)"):
        load({}, {"VERIDICAL_SEARCH__K": "many"})


def test_broken_toml_says_where(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="line 1"):
        load({}, {}, write(tmp_path, "llm = \n"))


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no settings file"):
        load({}, {}, tmp_path / "gone.toml")


def test_a_secret_never_shows() -> None:
    loaded = load({}, {"OPENAI_API_KEY": "sk-very-secret"})
    assert loaded.settings.openai.api_key is not None
    assert loaded.settings.openai.api_key.get_secret_value() == "sk-very-secret"
    assert "very-secret" not in repr(loaded) + str([row.value for row in loaded.rows()])


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().llm = "other"  # type: ignore[misc]
