"""Text from documents made safe to print: it is data, and must not move the cursor, colour or hide anything."""

from __future__ import annotations

import re
from pathlib import Path

# An escape sequence goes as a whole; what would be left of it is noise.
_ESCAPE = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, hyperlinks
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[ -/]*[0-~]?"
)
# Tab and line feed stay; C0, C1 and the marks that turn the direction of text go.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_HEADING = re.compile(r"\A\s*#{1,6} [^\n]*\n+(?=\s*\S)")


def printable(text: str) -> str:
    """`text` with its lines and tabs, without escape sequences, control and direction characters."""
    return _CONTROL.sub("", _ESCAPE.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    return " ".join(printable(text).split())


def short_path(uri: str) -> str:
    """A path below the current folder relative to it; other paths and URLs as they are."""
    shown = one_line(uri)
    if "://" in shown:
        return shown
    try:
        return Path(shown).relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):  # elsewhere, or the current folder is gone
        return shown


def path_tail(place: str, width: int) -> str:
    """The last folders and the name, as many as fit into `width` characters."""
    if len(place) <= width:
        return place
    tail = place[-(width - 1) :]
    return f"…{tail[tail.index('/') :] if '/' in tail else tail}"


def snippet(text: str, words: frozenset[str], width: int = 240) -> str:
    """The stretch of `text` that holds most of the wanted words, cut at spaces; a heading in front is left out."""
    flat = one_line(_HEADING.sub("", text) or text)
    if len(flat) <= width:
        return flat
    hits = [(found.start(), found.group().lower()) for found in re.finditer(r"\w+", flat)]
    hits = [(start, word) for start, word in hits if word in words]
    starts = [0, *(max(0, start - width // 4) for start, _ in hits)]
    best = max(starts, key=lambda at: (len({word for start, word in hits if at <= start < at + width}), -at))
    first = flat.rfind(" ", 0, best) + 1 if best else 0
    last = flat.rfind(" ", first, first + width) if first + width < len(flat) else len(flat)
    last = last if last > first else first + width
    return f"{'… ' if first else ''}{flat[first:last]}{' …' if last < len(flat) else ''}"


def query_words(query: str) -> frozenset[str]:
    """The words worth pointing at: in lower case, three letters or more."""
    return frozenset(word for word in re.findall(r"\w+", query.lower()) if len(word) > 2)
