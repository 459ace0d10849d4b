"""Quotes: what the claim puts between quotation marks must stand in the passage word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator

from veridical.checks.words import fold
from veridical.types import Finding

_PAIRS = {"“": "”", "„": "“”", "«": "»", "‘": "’", '"': '"'}
_OPENING = re.compile(r"[“„«‘\"]")
_GAP = re.compile(r"\[[^\][]*\]\w*|…|\.\.\.+|\. \. \.")  # words left out or put in by whoever quotes
_WORD = re.compile(r"[^\W_]+")
_FEWEST = 3  # words; fewer are a title or a word held at arm's length


def find_quotes(claim: str, evidence: str) -> Iterator[Finding]:
    """The quotes of the claim that the evidence does not have, in order; a title is a finding of kind name."""
    source = ""
    for quote in _read_quotes(_without_wrapping(claim)):
        if len(_WORD.findall(quote)) < _FEWEST:
            continue
        source = source or _flatten(evidence)
        if not _occurs(quote, source):
            kind = "name" if _is_title(quote) else "quote"
            yield Finding(kind, quote, "the quoted words are not in the cited passage")


def _is_title(quote: str) -> bool:
    """Whether every long word has a capital, as in the name of a book or a film."""
    return all(word[0].isupper() for word in _WORD.findall(quote) if len(word) > 3)


def _occurs(quote: str, source: str) -> bool:
    """Whether the parts of `quote` stand in `source` in their order."""
    at = 0
    for part in filter(None, map(str.strip, map(_flatten, _GAP.split(quote)))):
        found = source.find(f" {part} ", at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _flatten(text: str) -> str:
    """The words of `text` between single spaces, nothing else."""
    return f" {' '.join(_WORD.findall(fold(text)))} "


def _without_wrapping(text: str) -> str:
    """`text` without the quotation marks that a table's file puts around it, where it doubles those within."""
    bare = text.strip()
    wrapped = len(bare) > 2 and bare[0] == bare[-1] == '"' and '""' in bare[1:-1]
    return bare[1:-1].replace('""', '"') if wrapped else text


def _read_quotes(text: str) -> Iterator[str]:
    at = 0
    unclosed: set[str] = set()  # a mark that nothing closes from here on closes nowhere later
    while opening := _OPENING.search(text, at):
        at = opening.end()
        mark = opening[0]
        if mark in unclosed:
            continue
        before, after = text[opening.start() - 1 : opening.start()], text[at : at + 1]
        if before.isalnum() or not after or after.isspace():  # 5" or an apostrophe, not the start of a quote
            continue
        end = _closing(text, at, mark)
        if end < 0:
            unclosed.add(mark)
            continue
        yield text[at:end]
        at = end + 1


def _closing(text: str, at: int, mark: str) -> int:
    """Where the quote that begins at `at` ends, or -1."""
    closing = re.compile(f"[{_PAIRS[mark]}]")
    for match in closing.finditer(text, at):
        apostrophe = mark == "‘" and text[match.end() : match.end() + 1].isalnum()
        if not apostrophe:
            return match.start()
    return -1
