"""Files in, passages out: walking folders, reading formats, cutting text. Everything heavy is imported on use."""

from __future__ import annotations

from veridical.corpus.chunk import chunk
from veridical.corpus.fingerprint import CHUNKER_VERSION, chunker_fingerprint, fingerprint, reader_fingerprint
from veridical.corpus.parse import Parsed
from veridical.corpus.pool import Parsing, parse_all
from veridical.corpus.read import read
from veridical.corpus.read.records import beir
from veridical.corpus.source import ReadOptions, Refused, Source, document_id
from veridical.corpus.walk import walk
from veridical.corpus.web import url_source

__all__ = [
    "CHUNKER_VERSION",
    "Parsed",
    "Parsing",
    "ReadOptions",
    "Refused",
    "Source",
    "beir",
    "chunk",
    "chunker_fingerprint",
    "document_id",
    "fingerprint",
    "parse_all",
    "read",
    "reader_fingerprint",
    "url_source",
    "walk",
]
