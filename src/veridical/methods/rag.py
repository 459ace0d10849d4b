"""`rag`: retrieve with the question, write once with citations. The baseline of all four papers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.methods.joints import Gather, Keep, Refine, Search

if TYPE_CHECKING:
    from veridical.kit import Kit
    from veridical.types import Answer


@dataclass(frozen=True, slots=True)
class Rag:
    """Retrieve once, write once, cite every sentence."""

    gather: Gather = Search()
    refine: Refine = Keep()

    async def __call__(self, kit: Kit, question: str) -> Answer:
        passages = await self.gather(kit, question)
        draft = await kit.write(question, tuple(passages))
        draft = await self.refine(kit, question, draft)
        return await kit.conclude(question, draft, self)
