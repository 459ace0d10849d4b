"""Where methods meet: a `Gather` finds passages, a `Refine` mends a draft, a `Method` answers a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from veridical.kit import Kit
    from veridical.types import Answer, Draft, Passage


class Gather(Protocol):
    async def __call__(self, kit: Kit, question: str) -> Sequence[Passage]: ...


class Refine(Protocol):
    async def __call__(self, kit: Kit, question: str, draft: Draft) -> Draft: ...


class Method(Protocol):
    async def __call__(self, kit: Kit, question: str) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Search:
    """Passages for the question as it stands; k=None takes the settings' value."""

    k: int | None = None

    async def __call__(self, kit: Kit, question: str) -> Sequence[Passage]:
        return await kit.search(question, self.k)


@dataclass(frozen=True, slots=True)
class Keep:
    """Leaves the draft as it is."""

    async def __call__(self, kit: Kit, question: str, draft: Draft) -> Draft:  # noqa: ARG002 - the joint's shape
        return draft
