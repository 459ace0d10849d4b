"""Text files; a long one becomes several documents, so that no more than a part is ever in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath

from veridical.corpus.read.decode import clean, decode, find_encoding, text_stream
from veridical.corpus.read.origin import Extract, Origin
from veridical.errors import InputRefused
from veridical.types import Document, Heading

STREAM_BYTES = 8 * 1024 * 1024  # larger files are streamed
PART_CHARACTERS = 1_000_000
_SAMPLE_BYTES = 1 << 20
_PROSE = frozenset({".txt", ".text", ".rst"})  # the first line of a log or a configuration is no title
_LONGEST_TITLE = 90
_UNDERLINE = re.compile(r"([=\-~*#_^\"'`+])\1{2,}")
_HYPHENS = re.compile(r"(?<!\d)-+|-+(?!\d)|_+")  # but for those of dates
_NO_TITLE_ENDS = (".", ",", ":", ";")


def read(origin: Origin) -> Iterator[Document]:
    # A long file is read in parts, whose first lines are no titles.
    titled = PurePosixPath(origin.name).suffix.lower() in _PROSE and origin.size <= STREAM_BYTES
    yield from read_text(origin, partial(_extract_titled, origin.stem) if titled else Extract)


def _extract_titled(stem: str, text: str) -> Extract:
    return Extract(text, find_title(text) or _HYPHENS.sub(" ", stem))


def find_title(text: str) -> str:
    """The first line, if it is short, stands apart and does not end like a sentence; else ""."""
    lines = text.lstrip("\ufeff\n\t ").split("\n", 3)
    if _UNDERLINE.fullmatch(lines[0].strip()):  # a line above the title, as below it
        lines = lines[1:]
    if len(lines) < 2:
        return ""
    first, below = (line.strip() for line in lines[:2])
    stands_apart = not below or _UNDERLINE.fullmatch(below)
    plausible = len(first) <= _LONGEST_TITLE and not first.endswith(_NO_TITLE_ENDS) and re.search(r"\w{2}", first)
    return first if stands_apart and plausible else ""


def read_text(origin: Origin, extract: Callable[[str], Extract]) -> Iterator[Document]:
    """One document, or a document a part when the file is long; `extract` finds headings and facts in its text."""
    if origin.size > STREAM_BYTES:
        yield from _read_parts(origin, extract)
    else:
        yield origin.document(extract(decode(origin.content())))


def open_text(origin: Origin) -> Iterator[str]:
    """The decoded text in blocks. Raises InputRefused when it looks binary."""
    with origin.open() as raw:
        sample = raw.read(_SAMPLE_BYTES)
        encoding = find_encoding(sample, whole=len(sample) < _SAMPLE_BYTES)
        raw.seek(0)
        with text_stream(raw, encoding) as stream:
            while block := stream.read(PART_CHARACTERS // 4):
                yield block


def _read_parts(origin: Origin, extract: Callable[[str], Extract]) -> Iterator[Document]:
    offset = number = 0
    path: tuple[str, ...] = ()
    for part in _cut_parts(open_text(origin)):
        found = extract(part)
        if part.strip():
            number += 1
            if "\ufffd" in part:
                origin.warn(f"part {number} holds bytes outside the file's encoding, shown as \ufffd")
            yield origin.document(_as_part(found, origin.name, number, offset, path), f"part={number}" * (number > 1))
        path = found.headings[-1].path if found.headings else path
        offset += len(part)
    if not number:
        raise InputRefused("holds no text", fix="Leave the file out.")


def _as_part(found: Extract, name: str, number: int, offset: int, path: tuple[str, ...]) -> Extract:
    """A part's extract, which takes over the heading path that was in force before it."""
    first = found.headings[0].start if found.headings else 1
    carried = (Heading(0, path),) if path and first > 0 else ()
    return Extract(
        found.text,
        f"{found.title or name} (part {number})",
        headings=carried + found.headings,
        date=found.date,
        tags=found.tags,
        offset=offset + found.offset,
    )


def _cut_parts(blocks: Iterator[str]) -> Iterator[str]:
    """Parts of at most PART_CHARACTERS that rejoin to the text, cut at a paragraph, a line or a word if any is near."""
    rest = ""
    for block in blocks:
        rest += clean(block)
        while len(rest) > PART_CHARACTERS:
            cut = _find_cut(rest)
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest


def _find_cut(text: str) -> int:
    for edge in ("\n\n", "\n", " "):
        at = text.rfind(edge, PART_CHARACTERS // 2, PART_CHARACTERS)
        if at > 0:
            return at + len(edge)
    return PART_CHARACTERS
