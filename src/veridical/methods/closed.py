"""`closed`: the language model answers from memory, without retrieval. What every method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.kit import as_draft

if TYPE_CHECKING:
    from veridical.kit import Kit
    from veridical.types import Answer


@dataclass(frozen=True, slots=True)
class Closed:
    """Answer from the model's memory; nothing is cited, so nothing can be verified."""

    async def __call__(self, kit: Kit, question: str) -> Answer:
        text = await kit.ask("answer_closed", question=question)
        return await kit.conclude(question, as_draft(text), self)
