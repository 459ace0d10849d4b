"""MAUVE: how near the distribution of the answers is to that of reference answers. Needs the extra `mauve`."""

from __future__ import annotations

import importlib
import string
from collections.abc import Sequence
from typing import Any, NamedTuple

from veridical.errors import ModelUnavailable
from veridical.metrics.normalise import drop_marks

_WORDS = 100


class Compared(NamedTuple):
    """A question with the answer given and the answer that people wrote."""

    question: str
    answer: str
    reference: str


def mauve_text(question: str, answer: str) -> str:
    """Question and answer as ALCE compares them: without marks, the first 100 words, no punctuation at the end."""
    words = f"{question} {drop_marks(answer)}".split()[:_WORDS]
    return " ".join(words).rstrip(string.punctuation)


def mauve(examples: Sequence[Compared], model: str = "gpt2-large", device: int = -1) -> float:
    """Area under the divergence frontier of the two sets of texts, 0..1, larger is nearer (Pillutla et al., 2021).

    A number for a whole set (ALCE has about 1,000), meaningless for a handful. `device` −1 is the CPU.
    Raises ModelUnavailable when the extra is not installed.
    """
    package = _package()
    found = package.compute_mauve(
        p_text=[mauve_text(one.question, one.reference) for one in examples],
        q_text=[mauve_text(one.question, one.answer) for one in examples],
        featurize_model_name=model,
        max_text_length=512,
        device_id=device,
        verbose=False,
    )
    return float(found.mauve)


def _package() -> Any:
    try:
        return importlib.import_module("mauve")
    except ImportError as error:
        raise ModelUnavailable(
            f"MAUVE needs the package mauve-text: {error}", fix="pip install 'veridical[mauve]' (it brings torch)"
        ) from error
