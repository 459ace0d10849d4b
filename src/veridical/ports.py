"""What the engine needs from the outside, as Protocols: batch first, one method each where one is enough.

Every adapter, real or fake, passes the contract suite of its Protocol in `tests/contract`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from veridical.types import Chunk, Document, Draft, Entailment, Filter, Passage, Prompt, Sampling

if TYPE_CHECKING:  # numpy costs 0.15 s to import, and a port only names it
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"  # one L2-normalised row a text


class Retriever(Protocol):
    async def search(self, queries: Sequence[str], k: int, where: Filter | None = None) -> Sequence[Sequence[Passage]]:
        """One list a query, best first, at most k passages each, no near-duplicate of another in the list."""
        ...


class Embedder(Protocol):
    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text could get another vector."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> Vectors: ...


class CrossScorer(Protocol):
    async def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """One calibrated number a (question, passage) pair."""
        ...


class Judge(Protocol):
    @property
    def threshold(self) -> float:
        """The probability of entailment from which this judge's word counts as support."""
        ...

    def declines(self, text: str) -> str:
        """Why this judge cannot read `text` (another language, say); empty when it can."""
        ...

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        """One distribution a (premise, hypothesis) pair."""
        ...


@runtime_checkable
class Generator(Protocol):
    def stream(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Chunk]:
        """Raises ModelUnavailable when the model cannot be reached, ModelOutputInvalid when it answers nonsense."""
        ...


@runtime_checkable
class Writer(Protocol):
    async def write(self, question: str, passages: Sequence[Passage]) -> Draft:
        """A draft whose marks [n] point at passages[n-1], or one that says why it abstained."""
        ...


class Store(Protocol):
    """The only truth: documents and their passages, in change order. What is derived from it follows `seq`."""

    def seq(self) -> int:
        """The number of the last change; grows with every change that is committed."""
        ...

    def document(self, document_id: str) -> Document | None: ...

    def passages(self, ids: Sequence[str]) -> Sequence[Passage]:
        """Those that exist, in the order asked."""
        ...

    def removed_since(self, seq: int) -> Sequence[int]:
        """The rows of passages deleted by later changes."""
        ...
