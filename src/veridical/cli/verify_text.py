"""The text that `verify` checks: read from a file or stdin, and parted into what makes claims and what does not."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from veridical.cli.verify_markdown import blank, find_silent
from veridical.errors import InputRefused
from veridical.text.sentences import sentence_spans
from veridical.types import Span

if TYPE_CHECKING:
    from veridical.settings import ReadSettings

STDIN = "standard input"
_AS_WRITTEN = frozenset({"plain", "markdown", "code"})  # readers of texts that are checked as they stand in the file
_PLURALS = {"front matter": "front matters"}
_LIST_HEADING = re.compile(
    r"^[ \t#*_]*(?:references|sources|bibliography|citations|works cited)[ \t:*_]*$", re.IGNORECASE | re.MULTILINE
)
_LEAD_IN = re.compile(  # without a digit, and short: "Acme was founded in 1987:" is a claim
    r"(?:here|below|the following|these|in (?:summary|short|conclusion)|summary|to sum up|answer|note)\b"
    r"[^\d.!?]{0,60}:",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"^[ \t]*(?:[-*][ \t]+)?\[(\d{1,4})\]:?[ \t]+(\S[^\n]*)$")


@dataclass(frozen=True, slots=True)
class Text:
    """`content` as it was read; `skipped` are the parts of it that make no claim, by kind in `kinds`.

    `references` says what the list at its end has for each number.
    """

    name: str
    content: str
    skipped: tuple[Span, ...] = ()
    kinds: Mapping[str, int] = field(default_factory=dict)
    references: Mapping[int, str] = field(default_factory=dict)

    @property
    def checkable(self) -> str:
        """The content with the skipped parts blank: as long as it, so that every span is one of both."""
        return blank(self.content, self.skipped)


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


def read_content(argument: str | None, read: ReadSettings) -> tuple[str, str]:
    """(name, text) of a file, or of stdin for None and `-`. Raises InputRefused when there is none to check."""
    name, text = _from_stdin(argument, read) if argument in (None, "-") else _from_file(Path(str(argument)), read)
    if not re.search(r"\w", text):
        raise InputRefused(
            f"{name} holds nothing to check",
            fix="give a text with at least one sentence: veridical verify answer.md, or pipe one in",
        )
    return name, text


def _from_stdin(argument: str | None, read: ReadSettings) -> tuple[str, str]:
    if argument is None and sys.stdin.isatty():
        raise InputRefused(
            "there is nothing to check", fix="name a file: veridical verify answer.md --sources FOLDER; or pipe a text"
        )
    from veridical.corpus.read.decode import decode

    limit = read.max_file_mb << 20
    content = sys.stdin.buffer.read(limit + 1)
    if len(content) > limit:
        raise _too_large(STDIN, read)
    return STDIN, _named(STDIN, lambda: decode(content))


def _from_file(path: Path, read: ReadSettings) -> tuple[str, str]:
    if path.is_dir():
        raise InputRefused(f"{path} is a folder", fix=f"name one text, and this folder as --sources {path}")
    try:
        size = path.stat().st_size
        if size > read.max_file_mb << 20:
            raise _too_large(str(path), read)
        return path.name, _named(str(path), lambda: _extract(path, size, read))
    except FileNotFoundError:
        raise InputRefused(f"{path} does not exist", fix="check the spelling, or pipe the text in") from None
    except OSError as error:
        raise InputRefused(f"{path} cannot be read: {error.strerror}", fix="check its permissions") from None


def _extract(path: Path, size: int, read: ReadSettings) -> str:
    """Plain text and Markdown as they stand in the file; of other formats (PDF, HTML, DOCX…) the text they hold."""
    from veridical.corpus.formats import known_format, sniff_format
    from veridical.corpus.read import read as read_documents
    from veridical.corpus.read.decode import decode
    from veridical.corpus.source import ReadOptions, Source

    found = known_format(path.name)
    if found is None:
        with path.open("rb") as start:
            found = sniff_format(start.read(1024))
    if found.reader in _AS_WRITTEN:
        return decode(path.read_bytes())
    options = ReadOptions(max_file_bytes=read.max_file_mb << 20, html=read.html, ocr=read.ocr, timeout_s=read.timeout_s)
    source = Source(path.absolute().as_posix(), path, size)
    return "\n\n".join(document.text for document in read_documents(source, options))


def _named(name: str, work: Callable[[], str]) -> str:
    """Readers do not know the name of what they read, and a message without it helps nobody."""
    try:
        return work()
    except InputRefused as error:
        raise InputRefused(f"{name} {error.message}", fix=error.fix) from None


def _too_large(name: str, read: ReadSettings) -> InputRefused:
    return InputRefused(
        f"{name} is larger than {read.max_file_mb:,} MB",
        fix="split the text, or raise read.max_file_mb; sources may be as large as `veridical add` takes them",
    )


# ── what makes no claim ──────────────────────────────────────────────────────────────────────────


class _Entry(NamedTuple):
    number: int
    said: str
    span: Span


def part_text(name: str, content: str, is_source: Callable[[str], bool]) -> Text:
    """The text without its list of references and, where it is Markdown, without headings, code and comments.

    Lines `[n] …` at the end are that list when a heading says so, or where `is_source` knows what they name: a
    sentence that merely begins with a mark stays a claim.
    """
    found = find_silent(content) if _is_markdown(name) else {}
    found |= _find_asides(blank(content, _apart(found)))
    entries, heading = _reference_list(content)
    references = {
        entry.number: entry for entry in reversed(entries) if heading is not None or is_source(entry.said)
    }  # of two lines with one number the first counts
    if references:
        found |= {entry.span: "reference" for entry in entries if heading is not None or is_source(entry.said)}
        found |= {heading: "heading"} if heading is not None else {}
    spans = _apart(found)
    kinds = Counter(found[span] for span in spans)
    return Text(name, content, tuple(spans), kinds, {number: entry.said for number, entry in references.items()})


def _find_asides(content: str) -> dict[Span, str]:
    """Sentences that ask, and short ones that only announce what follows."""
    found: dict[Span, str] = {}
    for span in sentence_spans(content):
        sentence = span.of(content).rstrip("\"'”’»)*_` ")
        if sentence.endswith("?"):
            found[span] = "question"
        elif _LEAD_IN.fullmatch(sentence):
            found[span] = "lead-in"
    return found


def _is_markdown(name: str) -> bool:
    """By the name of the file; what comes by a pipe is mostly a model's, and models write Markdown."""
    from veridical.corpus.formats import known_format

    if name == STDIN:
        return True
    found = known_format(name)
    return found is not None and found.reader == "markdown"


def _apart(found: Mapping[Span, str]) -> list[Span]:
    """In order, without those that lie in another."""
    spans: list[Span] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if not spans or span.start >= spans[-1].end:
            spans.append(span)
    return spans


def _reference_list(content: str) -> tuple[list[_Entry], Span | None]:
    """The lines `[n] …` that end the text, and the heading above them if there is one."""
    entries: list[_Entry] = []
    end = len(content)
    for line in reversed(content.splitlines(keepends=True)):
        start = end - len(line)
        match = _ENTRY.match(line.rstrip("\n"))
        if match:
            entries.append(_Entry(int(match[1]), match[2].strip(), Span(start, start + len(line.rstrip("\n")))))
        elif line.strip():
            heading = Span(start, start + len(line.rstrip("\n"))) if _LIST_HEADING.match(line) else None
            return entries[::-1], heading if entries else None
        end = start
    return [], None  # a text that is nothing but such lines is no list of references


def skipped_note(text: Text) -> str:
    """What was left out, in words; empty when nothing was."""
    if not text.kinds:
        return ""
    counts = [
        f"{number:,} {kind if number == 1 else _PLURALS.get(kind, kind + 's')}" for kind, number in text.kinds.items()
    ]
    return f"not checked, because it makes no claim: {', '.join(counts)}"
