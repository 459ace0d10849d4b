"""Lines as they were set on a page, made into paragraphs again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from veridical.corpus.read.decode import clean

# pdfium marks a hyphen that only breaks a word, and leaves out the line's end behind it.
_LINE_END = re.compile("(?P<broken>[\x02\xad\ufffe]\\s*)|\r\n|\r|\n")
_SOFT_HYPHEN = "\xad"
_BULLET = re.compile(r"\s*(?:[-*•‣–▪◦]|\(?\d{1,3}[.)]|\(?[a-z]\))\s")
_NUMBERED_HEADING = re.compile(r"\d{1,2}(?:\.\d{1,2})*\.?\s+[^\W\d_a-z]")
_ENDS_SENTENCE = re.compile(r"[.!?:。！？؟…][\"'”’)\]]*$")
_FULL_LINE = 0.7  # of the page's usual line: shorter ones end a paragraph, or are headings, rows and items
_SHORTEST_FULL_LINE = 20  # a page of shorter lines is no prose
_EDGE_LINES = 2  # at the top and at the bottom of a page, where headers and footers stand
_FEWEST_REPEATS = 3
_REPEATING_SHARE = 0.1


class Line(NamedTuple):
    """A line of a page, and how it is set as far as that is known."""

    text: str
    size: float = 0.0  # of its smallest letters, in points; 0: not known
    bold: bool = False  # throughout, and no row of a table
    drop: float = 0.0  # from the baseline of the line above, in points; 0: not known, or the first


def ends_sentence(text: str) -> bool:
    return bool(_ENDS_SENTENCE.search(text))


def split_lines(raw: str) -> Iterator[tuple[int, int, str]]:
    """Where each line begins and ends in `raw`, and its clean text, with a soft hyphen if it ends within a word."""
    start = 0
    for end in _LINE_END.finditer(raw):
        yield start, end.start(), _tidy(raw[start : end.start()]) + _SOFT_HYPHEN * bool(end["broken"])
        start = end.end()
    yield start, len(raw), _tidy(raw[start:])


def drop_running_lines(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """The pages without headers, footers and page numbers: lines at an edge that recur but for their digits."""
    counts = Counter(key for lines in pages for key in {_masked(lines[at]) for at in _edges(lines)})
    fewest = max(_FEWEST_REPEATS, _REPEATING_SHARE * len(pages))
    running = {key for key, count in counts.items() if count >= fewest and re.search(r"\w|#", key)}
    kept = []
    for lines in pages:
        dropped = {at for at in _edges(lines) if _masked(lines[at]) in running}
        kept.append([line for at, line in enumerate(lines) if at not in dropped])
    return kept


def full_line(lines: Sequence[Line]) -> float:
    """How many characters make a line of this page a full one, that runs on into the next."""
    lengths = sorted(len(line.text) for line in lines if line.text)
    usual = lengths[int(len(lengths) * 0.8)] if lengths else 0
    return max(_FULL_LINE * usual, _SHORTEST_FULL_LINE)


def join_lines(lines: Sequence[str], full: float) -> str:
    """Lines as paragraphs: full lines run on, a short line that ends a sentence ends its paragraph."""
    text = above = ""
    for line in lines:
        if not line:
            text += "\n\n" if above else ""
        elif not above:
            text += line
        elif len(line) < full and ends_sentence(above) and _NUMBERED_HEADING.match(line):
            text += f"\n\n{line}"
        else:
            text = _join(text, line, short=len(above) < full)
        above = line
    return text.replace(_SOFT_HYPHEN, "-").strip()


def _join(text: str, line: str, *, short: bool) -> str:
    """`text` and its next line; `short` says that the line above did not reach the margin."""
    if text.endswith(_SOFT_HYPHEN):
        return text[:-1] + ("" if line[:1].islower() else "-") + line
    if re.search(r"\w[-‐]$", text) and line[:1].islower() and not short:
        return text[:-1] + line
    if short and ends_sentence(text):
        return f"{text}\n\n{line}"
    return f"{text}\n{line}" if short or _BULLET.match(line) else f"{text} {line}"


def _tidy(line: str) -> str:
    return " ".join(clean(line).split())


def _edges(lines: Sequence[Line]) -> list[int]:
    """Where headers and footers may stand; a page of few lines is all text."""
    filled = [at for at, line in enumerate(lines) if line.text]
    return [*filled[:_EDGE_LINES], *filled[-_EDGE_LINES:]] if len(filled) > 2 * _EDGE_LINES else []


def _masked(line: Line) -> str:
    return re.sub(r"\d+", "#", line.text)
