"""Settings are data: one frozen value, filled from flags, then the environment, then a file, then defaults.

`load` also says where each value came from. An unknown key is refused with the nearest known one.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from veridical.errors import ConfigError
from veridical.types import Json

ENV_PREFIX = "VERIDICAL_"
CONFIG_FILE = "veridical.toml"
# Names that other tools set too; they fill a setting that nothing else has set.
_FOREIGN_ENV = {"OPENAI_API_KEY": "openai.api_key", "OPENAI_BASE_URL": "openai.base_url"}


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ReadSettings(Section):
    workers: int = Field(0, ge=0, description="processes that parse documents; 0 = one a core")
    max_file_mb: int = Field(256, ge=1, description="larger files are refused, unless they are text, which is streamed")
    timeout_s: float = Field(120.0, gt=0, description="seconds a single file may take to parse")
    ocr: bool = Field(False, description="read the pages of a PDF that are pictures; needs the ocr extra, 20 s a page")
    html: Literal["lxml", "trafilatura"] = Field(
        "lxml", description="what finds the main text of a page; trafilatura needs the web extra"
    )


class ChunkSettings(Section):
    tokens: int = Field(200, ge=16, le=250, description="embedder tokens a passage has at most")


class SearchSettings(Section):
    mode: Literal["hybrid", "lexical", "dense"] = Field("hybrid", description="which index answers")
    k: int = Field(5, ge=1, le=1000, description="passages a question is answered from")
    candidates: int = Field(100, ge=1, description="candidates each index gives to the fusion")
    rerank: int = Field(0, ge=0, le=1000, description="first passages that the relevance model reorders; 0 = none")


class OpenAiSettings(Section):
    base_url: str = Field("http://127.0.0.1:11434/v1", description="an OpenAI-compatible server; this is Ollama's")
    api_key: SecretStr | None = Field(None, description="sent as a bearer token; never printed")
    timeout_s: float = Field(120.0, gt=0, description="silence after which the server counts as hung")
    connect_timeout_s: float = Field(5.0, gt=0, description="seconds to wait for a connection")
    retries: int = Field(3, ge=0, description="further tries after 429, 5xx or a refused connection")
    concurrency: int = Field(8, ge=1, description="requests under way at once")


class LlamaSettings(Section):
    threads: int = Field(0, ge=0, description="0 = one a core")
    context: int = Field(4096, ge=256, description="tokens a prompt and its answer have room for")
    parallel: int = Field(1, ge=1, description="sequences decoded at once")


class BudgetSettings(Section):
    calls: int = Field(32, ge=0, description="language-model calls a question")
    tokens: int = Field(60_000, ge=0, description="language-model tokens a question, prompt and answer")
    seconds: float = Field(600.0, gt=0, description="seconds a question")


class VerifySettings(Section):
    judge: str = Field("local", description="local, llm, hf:NAME_OR_FOLDER[#COLUMN] (needs the hf extra) or verbatim")
    votes: int = Field(3, ge=1, le=99, description="how often an llm judge is asked about a claim; the majority counts")
    threshold: float | None = Field(None, ge=0, le=1, description="score from which a claim counts as supported")
    risk: float | None = Field(None, gt=0, lt=1, description="largest share of shown claims that may be wrong")
    calibration: str = Field("", description="file that maps a risk to a threshold, from `verify --calibrate`")
    download: bool = Field(False, description="let an hf judge be fetched from the hub; otherwise nothing is")


class Settings(Section):
    index: str = Field(".veridical", description="folder of the index")
    llm: str = Field("quote", description="quote, smollm2, a GGUF file, or openai:MODEL")
    method: str = Field("rag", description="how a question is answered; see `veridical methods`")
    language: str = Field("en", description="language of the documents, for sentence boundaries")
    home: str = Field("", description="where pulled models are kept; empty = the user's cache folder")
    data: str = Field("", description="folder of public data sets, for the bench alone")
    read: ReadSettings = ReadSettings()
    chunk: ChunkSettings = ChunkSettings()
    search: SearchSettings = SearchSettings()
    openai: OpenAiSettings = OpenAiSettings()
    llama: LlamaSettings = LlamaSettings()
    budget: BudgetSettings = BudgetSettings()
    verify: VerifySettings = VerifySettings()


@dataclass(frozen=True, slots=True)
class Setting:
    """One value, where it came from and what it means: a row of `veridical config show`."""

    key: str
    value: object
    origin: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Loaded:
    settings: Settings
    origins: Mapping[str, str]

    def rows(self) -> Iterator[Setting]:
        for key, meaning in known_keys().items():
            yield Setting(key, _get(self.settings, key), self.origins.get(key, "default"), meaning)


def known_keys() -> dict[str, str]:
    """Every key in dotted form, with its meaning, in the order of definition."""
    keys: dict[str, str] = {}
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            keys |= {f"{name}.{inner}": f.description or "" for inner, f in kind.model_fields.items()}
        else:
            keys[name] = field.description or ""
    return keys


def load(
    flags: Mapping[str, Json] | None = None,
    env: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Loaded:
    """Flags (dotted keys) over environment over `file` (default: veridical.toml here, if there is one)."""
    env = os.environ if env is None else env
    values: dict[str, tuple[Json, str]] = {}
    values |= {key: (value, str(path)) for path, key, value in _from_file(file)}
    values |= _from_env(env, set(values))
    values |= {_known(key, "flag"): (value, "flag") for key, value in (flags or {}).items() if value is not None}
    nested: dict[str, Json] = {}
    for key, (value, _) in values.items():
        section, dot, name = key.partition(".")
        if dot:
            cast("dict[str, Json]", nested.setdefault(section, {}))[name] = value
        else:
            nested[section] = value
    try:
        settings = Settings.model_validate(nested)
    except ValidationError as error:
        raise _explain(error, values) from None
    return Loaded(settings, {key: origin for key, (_, origin) in values.items()})


def _from_file(file: Path | None) -> Iterator[tuple[Path, str, Json]]:
    path = file or Path(CONFIG_FILE)
    if not path.is_file():
        if file is not None:
            raise ConfigError(f"there is no settings file {file}", fix="check the path given to --config")
        return
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", fix="mend that line") from None
    for name, value in table.items():
        if isinstance(value, dict):
            for inner, inner_value in value.items():
                yield path, _known(f"{name}.{inner}", str(path)), inner_value
        else:
            yield path, _known(name, str(path)), value


def _from_env(env: Mapping[str, str], already: set[str]) -> dict[str, tuple[Json, str]]:
    found: dict[str, tuple[Json, str]] = {
        key: (env[name], name) for name, key in _FOREIGN_ENV.items() if env.get(name) and key not in already
    }
    for name, value in env.items():
        if name.startswith(ENV_PREFIX) and value != "":
            key = name.removeprefix(ENV_PREFIX).lower().replace("__", ".")
            found[_known(key, name)] = (value, name)
    return found


def _known(key: str, origin: str) -> str:
    keys = known_keys()
    if key in keys:
        return key
    near = difflib.get_close_matches(key, keys, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else "`veridical config show` lists every setting"
    raise ConfigError(f"unknown setting {key} ({origin})", fix=hint)


def _explain(error: ValidationError, values: Mapping[str, tuple[Json, str]]) -> ConfigError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    origin = values.get(key, (None, "default"))[1]
    meaning = known_keys().get(key, "")
    return ConfigError(f"{key} ({origin}): {first['msg']}", fix=f"{key} is: {meaning}" if meaning else "correct it")


def _get(settings: Settings, key: str) -> object:
    value: object = settings
    for part in key.split("."):
        value = getattr(value, part)
    return value
