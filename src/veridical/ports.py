"""What the engine needs from the outside, as Protocols: batch first, one method each where one is enough.

Every adapter, real or fake, passes the contract suite of its Protocol in `tests/contract`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
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
    """The only truth: documents, their passages and vectors, in change order."""

    def put(self, documents: Iterable[tuple[Document, Sequence[Passage], Vectors]]) -> None:
        """Replaces documents of the same id. Durable when it returns."""
        ...

    def delete(self, document_ids: Sequence[str]) -> int: ...

    def document(self, document_id: str) -> Document | None: ...

    def passages(self, ids: Sequence[str]) -> Sequence[Passage]:
        """Those that exist, in the order asked."""
        ...
