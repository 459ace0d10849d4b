"""Where public data and scratch files lie. Nothing here depends on a particular machine."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridical.errors import ConfigError
from veridical.settings import load

PASSAGES = 100_000
QUICK_PASSAGES = 5_000


@dataclass(frozen=True, slots=True)
class Setup:
    """What every benchmark is told."""

    scratch: Path
    quick: bool = False
    vectors: Path | None = None  # precomputed vectors for `retrieval`
    public: Path | None = None  # the public ALCE script for `alce`

    @property
    def passages(self) -> int:
        return QUICK_PASSAGES if self.quick else PASSAGES


def data_folder() -> Path:
    """The folder that the setting `data` names. Raises ConfigError when it is not set or not there."""
    folder = load().settings.data
    if not folder or not Path(folder).is_dir():
        raise ConfigError(
            f"there is no data folder {folder!r}" if folder else "the benchmarks need public data, and none is named",
            fix="set VERIDICAL_DATA to a folder that holds corpus/, qa_eval/ and retrieval/",
        )
    return Path(folder)


def records(file: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a gzipped JSON-lines file. Raises ConfigError when it is missing."""
    if not file.is_file():
        raise ConfigError(f"there is no {file}", fix="complete the folder that VERIDICAL_DATA names")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
