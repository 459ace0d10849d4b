"""From the setting `llm` to a model.

`quote` needs no language model; `openai:NAME` is a model of the configured server; a name of the catalogue or a
path to a GGUF file runs in this process; `fake:FILE` replies from a JSON script. Other packages add names
through the entry point `veridical.models`: a callable that takes the settings and returns a Generator.
"""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.errors import ConfigError

if TYPE_CHECKING:
    from veridical.ports import Embedder, Generator, Writer
    from veridical.settings import Settings

ENTRY_POINTS = "veridical.models"


def choose_model(settings: Settings, embedder: Embedder) -> tuple[Generator | None, Writer | None]:
    """A generator, or the writer that does without one. Raises ConfigError or ModelUnavailable."""
    kind, _, rest = settings.llm.partition(":")
    if settings.llm == "quote":
        from veridical.models.quote import QuoteWriter

        return None, QuoteWriter(embedder)
    if kind == "openai" and rest:
        return _server(settings, rest), None
    if kind == "fake" and rest:
        return _script(Path(rest)), None
    for entry in entry_points(group=ENTRY_POINTS, name=kind):
        return entry.load()(settings), None
    return _embedded(settings), None


def _server(settings: Settings, model: str) -> Generator:
    from veridical.models.openai import OpenAi, OpenAiOptions

    server = settings.openai
    key = server.api_key.get_secret_value() if server.api_key else None
    return OpenAi(
        OpenAiOptions(
            model=model,
            base_url=server.base_url,
            api_key=key,
            timeout_s=server.timeout_s,
            connect_timeout_s=server.connect_timeout_s,
            retries=server.retries,
            concurrency=server.concurrency,
        )
    )


def _script(file: Path) -> Generator:
    from veridical.models.fake import FakeGenerator

    fix = "give a JSON object: key → reply"
    try:
        script = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"the script {file} cannot be read: {error}", fix=fix) from None
    if not isinstance(script, dict) or not all(isinstance(reply, str) for reply in script.values()):
        raise ConfigError(f"the script {file} is no JSON object of texts", fix=fix)
    return FakeGenerator(script)


def _embedded(settings: Settings) -> Generator:
    from veridical.models.llama import Llama
    from veridical.models.llama_runtime import LlamaOptions
    from veridical.models.pull import resolve

    runtime = settings.llama
    path = resolve(settings.llm, settings.home)
    return Llama(
        LlamaOptions(path, threads=runtime.threads or None, context=runtime.context, parallel=runtime.parallel)
    )
