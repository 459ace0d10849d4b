"""The bundled sample corpus: the invented island of Ostrey, described in the README beside this file."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def corpus_folder() -> Path:
    """The folder with the sample's documents; the package is always installed as plain files."""
    return Path(str(files(__name__) / "corpus"))


def questions_file() -> Path:
    """JSON Lines of questions about the sample, each with its accepted answers and the documents that bear them."""
    return Path(str(files(__name__) / "questions.jsonl"))


def draft_file() -> Path:
    """An answer about the sample as a language model might write it, right and wrong; `[n]: path` names its sources."""
    return Path(str(files(__name__) / "draft.md"))
