"""What ingestion hands around before there is a document: where to read, how to read, and what was refused."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from veridical.errors import ConfigError, VeridicalError

_FEWEST_TOKENS = 8  # below this a passage is no longer a thought, and some characters alone take several tokens


@dataclass(frozen=True, slots=True)
class Source:
    """One file or URL to be read. `content` wins over `path`; a URL with neither is fetched when it is read."""

    uri: str  # absolute POSIX path, or URL
    path: Path | None = None
    size: int = 0
    modified: float = 0.0  # seconds since the epoch; 0 when unknown
    content: bytes | None = None
    media_type: str = ""  # what a server said it is; empty: judged by name and content


@dataclass(frozen=True, slots=True)
class Refused:
    """One file that could not be read, for the report at the end."""

    uri: str
    reason: str
    fix: str

    @classmethod
    def because(cls, uri: str, error: VeridicalError) -> Refused:
        return cls(uri, error.message, error.fix)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How sources become passages. Picklable: it travels to the worker processes."""

    chunk_tokens: int = 200
    max_file_bytes: int = 256 * 1024 * 1024  # of formats that are read whole; streamed text has no limit
    tags: tuple[str, ...] = ()
    language: str = "en"  # of the sentence splitter
    tokenizer: Path | None = None  # the embedder's tokenizer.json; None counts words
    html: str = "lxml"  # or "trafilatura", from the `web` extra
    ocr: bool = False  # read the pages of a PDF that are pictures; needs the `ocr` extra
    timeout_s: float = 120.0  # a file, in a worker process, without a sign of life

    def __post_init__(self) -> None:
        if self.chunk_tokens < _FEWEST_TOKENS:
            raise ConfigError(
                f"chunk_tokens is {self.chunk_tokens}",
                fix=f"Set chunk_tokens to {_FEWEST_TOKENS} or more; 200 is usual.",
            )
        if self.html not in {"lxml", "trafilatura"}:
            raise ConfigError(f"html is {self.html!r}", fix="Set html to 'lxml' or 'trafilatura'.")


def document_id(uri: str) -> str:
    """16 hex digits that depend on nothing but the URI."""
    return hashlib.blake2b(uri.encode("utf-8", "replace"), digest_size=8).hexdigest()
