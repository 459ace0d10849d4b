"""Fingerprints: of a file's bytes, and of everything that decides how text is cut."""

from __future__ import annotations

import hashlib
from pathlib import Path

from veridical.corpus.source import ReadOptions

CHUNKER_VERSION = 1  # raise it whenever the same text could be cut differently
_BLOCK_BYTES = 1 << 20


def fingerprint(path: Path) -> str:
    """32 hex digits of the file's bytes, read in blocks. Raises OSError."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as handle:
        while block := handle.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def fingerprint_bytes(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def chunker_fingerprint(options: ReadOptions) -> str:
    """Changes whenever the same file could give other passages."""
    tokenizer = fingerprint(options.tokenizer) if options.tokenizer else "words"
    parts = (CHUNKER_VERSION, options.chunk_tokens, options.language, options.html, tokenizer)
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()
