"""Language-model servers that already run on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import httpx2


@dataclass(frozen=True, slots=True)
class Found:
    kind: str
    base_url: str  # as the setting `openai.base_url` takes it
    models: tuple[str, ...]


# Where each listens unless told otherwise.
PORTS: Sequence[tuple[str, int]] = (("Ollama", 11434), ("llama.cpp", 8080), ("vLLM", 8000), ("LM Studio", 1234))


async def discover(ports: Sequence[tuple[str, int]] = PORTS, timeout_s: float = 0.3) -> tuple[Found, ...]:
    """The servers on loopback that list their models, in the order of `ports`."""
    async with httpx2.AsyncClient(timeout=timeout_s, trust_env=False) as client:
        looks = (_look(client, kind, f"http://127.0.0.1:{port}", timeout_s) for kind, port in ports)
        return tuple(found for found in await asyncio.gather(*looks) if found is not None)


async def _look(client: httpx2.AsyncClient, kind: str, root: str, timeout_s: float) -> Found | None:
    try:
        async with asyncio.timeout(timeout_s):  # httpx2 bounds each read, and a slow drip has many
            listed = await _names(client, f"{root}/v1/models", "data", "id")
            if listed is None and kind == "Ollama":  # before it spoke the OpenAI format
                listed = await _names(client, f"{root}/api/tags", "models", "name")
    except TimeoutError:
        return None
    return None if listed is None else Found(kind, f"{root}/v1", listed)


async def _names(client: httpx2.AsyncClient, url: str, key: str, name: str) -> tuple[str, ...] | None:
    """The names listed at `url`; None when no such server answers there."""
    try:
        answer = await client.get(url)
        if answer.status_code != 200:
            return None
        return tuple(str(model[name]) for model in answer.json()[key] or ())
    except (httpx2.HTTPError, ValueError, KeyError, TypeError):
        return None
