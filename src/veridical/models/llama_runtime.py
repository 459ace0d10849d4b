"""What a llama.cpp binding has to offer, and what the bindings share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from veridical.errors import ModelUnavailable
from veridical.types import Json

Emit: TypeAlias = Callable[[object], bool]  # takes an event of the chat format; True means: stop now


@dataclass(frozen=True, slots=True)
class LlamaOptions:
    path: Path
    context: int = 4096  # tokens of prompt and answer together, for each sequence
    parallel: int = 2  # sequences decoded in one batch; llama-cpp-python has one and takes turns
    threads: int | None = None  # None: every processor this process may use
    gpu_layers: int = 0
    prompt_cache_mib: int = 256  # RAM for the state of earlier prompts; llama-cpp-python keeps the last one only


class Runtime(Protocol):
    """A loaded model. `chat` blocks, may be called from several threads, and emits events of the chat format."""

    def chat(self, request: dict[str, Json], schema: Json, emit: Emit) -> None: ...

    def close(self) -> None: ...


class ContextTooSmall(Exception):
    """What a runtime raises for a prompt longer than its context."""

    def __init__(self, prompt_tokens: int, context: int) -> None:
        super().__init__(prompt_tokens, context)
        self.prompt_tokens, self.context = prompt_tokens, context


def unloadable(path: Path) -> ModelUnavailable:
    return ModelUnavailable(
        f"llama.cpp cannot load {path} ({path.stat().st_size:,} bytes)",
        fix="it may be cut short (compare its size or SHA-256 with the original and fetch it again), need more memory "
        "than is free (lower `context` or `parallel`), or be of an architecture newer than the binding (upgrade it)",
    )


def thread_count(options: LlamaOptions) -> int:
    if options.threads is not None:
        return options.threads
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS or Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1
