"""Asking a server through the OpenAI adapter, without ever really sleeping."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from veridical.errors import VeridicalError
from veridical.models.openai import OpenAi, OpenAiOptions
from veridical.types import Chunk, Message, Prompt, Sampling

HELLO = Prompt("hello@1", (Message("user", "Hello?"),))
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}
ASK_JSON = Prompt("year@1", (Message("system", "Be brief."), Message("user", "When?")), SCHEMA)
KEY = "sk-very-secret"


class Naps:
    """A sleep that only writes down how long it was asked for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def ask(
    url: str, prompt: Prompt = HELLO, sampling: Sampling = Sampling(), naps: Naps | None = None, **options: Any
) -> list[Chunk]:
    async def run() -> list[Chunk]:
        model = OpenAi(OpenAiOptions(**({"model": "tiny", "base_url": url} | options)), naps or Naps())
        try:
            return [chunk async for chunk in model.stream(prompt, sampling)]
        finally:
            await model.aclose()

    return asyncio.run(run())


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


def failure(url: str, kind: type[VeridicalError], **options: Any) -> VeridicalError:
    with pytest.raises(kind) as caught:
        ask(url, **options)
    assert caught.value.fix
    return caught.value
