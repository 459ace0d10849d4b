"""What goes into the index and what it says about itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from veridical.index.fuse import Fusion
from veridical.types import Document, Passage

if TYPE_CHECKING:
    from veridical.ports import Vectors

COMPLETE = "complete"
PARTIAL = "partial"  # its documents are still being added, or a writer died over it

Mode: TypeAlias = Literal["hybrid", "lexical", "dense"]


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A file or URL that was added. `fingerprint` is empty while the source is partial."""

    uri: str
    fingerprint: str = ""
    size: int = 0
    modified: float = 0.0
    status: str = COMPLETE
    added_at: str = ""  # ISO 8601, UTC; filled in by the index when empty
    warnings: tuple[str, ...] = ()


class Entry(NamedTuple):
    """A document with its passages and one normalised vector a passage (None: to be embedded later)."""

    source: str
    document: Document
    passages: Sequence[Passage]
    vectors: Vectors | None


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How candidates are found and joined; `fuse.py` says why so.

    `dense_weight` is the share of the vector search in a hybrid score. `fusion` by ranks is the reciprocal kind.
    """

    mode: Mode = "hybrid"
    candidates: int = 100
    dense_weight: float = 0.5
    fusion: Fusion = "scores"


@dataclass(frozen=True, slots=True)
class Stale:
    """What was made by an embedder or a chunker that is no longer the configured one."""

    passages_to_embed: int = 0
    documents_to_chunk: int = 0

    def __bool__(self) -> bool:
        return bool(self.passages_to_embed or self.documents_to_chunk)


@dataclass(frozen=True, slots=True)
class Listed:
    """A document as a list shows it, without its text."""

    id: str
    uri: str
    title: str
    media_type: str
    date: date | None
    tags: tuple[str, ...]
    passages: int


@dataclass(frozen=True, slots=True)
class Problem:
    what: str
    fix: str


@dataclass(frozen=True, slots=True)
class Stats:
    sources: int
    partial_sources: int
    documents: int
    passages: int
    vectors: int
    duplicates: int
    embedder: str
    chunker: str
    bytes_on_disk: Mapping[str, int] = field(default_factory=dict)


def content_hash(document: Document) -> str:
    """Changes whenever anything of the document that the index keeps changes."""
    return hashlib.blake2b(repr(document).encode("utf-8", "replace"), digest_size=16).hexdigest()


def text_key(text: str) -> int:
    """A signed 64-bit key of a text, as SQLite stores integers."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def storable(text: str) -> str:
    """`text` of the same length without lone surrogates, which UTF-8 cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
