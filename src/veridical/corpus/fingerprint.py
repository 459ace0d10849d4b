"""Fingerprints: of a source as the readers see it, and of everything that decides how text is cut."""

from __future__ import annotations

import hashlib
from pathlib import Path

from veridical.corpus.source import ReadOptions

CHUNKER_VERSION = 2  # raise it whenever the same text could be cut differently
READER_VERSION = 1  # raise it whenever the same file could be read as another text
_BLOCK_BYTES = 1 << 20


def reader_fingerprint(options: ReadOptions) -> str:
    """8 hex digits that change whenever the same bytes could be read as another text.

    Every fingerprint of a source begins with them: what was read otherwise is known without opening the file.
    """
    return hashlib.blake2b(repr((READER_VERSION, options.html, options.ocr)).encode(), digest_size=4).hexdigest()


def fingerprint(path: Path, options: ReadOptions) -> str:
    """40 hex digits: how it is read, then the file's bytes, which are taken in blocks. Raises OSError."""
    return reader_fingerprint(options) + _file_digest(path)


def fingerprint_bytes(content: bytes, options: ReadOptions) -> str:
    """As `fingerprint`, of content that is in memory."""
    return reader_fingerprint(options) + hashlib.blake2b(content, digest_size=16).hexdigest()


def chunker_fingerprint(options: ReadOptions) -> str:
    """Changes whenever the same text could give other passages."""
    tokenizer = _file_digest(options.tokenizer) if options.tokenizer else "words"
    parts = (CHUNKER_VERSION, options.chunk_tokens, options.language, tokenizer)
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def _file_digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as handle:
        while block := handle.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
