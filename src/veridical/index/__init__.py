"""The embedded index: a SQLite store and, derived from it, a BM25 index and a vector index."""

from __future__ import annotations

from veridical.index.library import Index
from veridical.index.records import COMPLETE, PARTIAL, Entry, Problem, SearchOptions, SourceRow, Stale, Stats
from veridical.index.writer import Writer

__all__ = [
    "COMPLETE",
    "PARTIAL",
    "Entry",
    "Index",
    "Problem",
    "SearchOptions",
    "SourceRow",
    "Stale",
    "Stats",
    "Writer",
]
