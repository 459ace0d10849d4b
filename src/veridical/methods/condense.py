"""A follow-up question made to stand alone, so that it can be searched for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.kit import Kit

_TURNS = 3  # older turns seldom matter and cost prompt tokens
_LEANING = re.compile(
    r"\b(it|its|he|she|him|her|his|hers|they|them|their|this|that|these|those|there|then|one|ones)\b"
    r"|^(and|but|so|or|also|what about|how about|why|when|where|who)\b[^?]{0,24}\??$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Turn:
    question: str
    answer: str


async def condense(kit: Kit, history: Sequence[Turn], question: str) -> str:
    """The question itself when nothing came before; without a language model, a rule puts the topic in front."""
    if not history:
        return question
    if kit.generator is None:
        return lean_on(history[-1].question, question)
    talk = "\n".join(f"Question: {turn.question}\nAnswer: {turn.answer}" for turn in history[-_TURNS:])
    rewritten = (await kit.ask("condense_question", history=talk, question=question)).strip()
    first_line = rewritten.splitlines()[0].strip() if rewritten else ""
    return first_line or question


def lean_on(previous: str, question: str) -> str:
    """The previous question in front of one that leans on it ("And who built it?"), which is crude but searchable."""
    return f"{previous} {question}" if _LEANING.search(question) else question
