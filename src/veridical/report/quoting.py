"""Evidence as it is shown: without Markdown's heading marks, on one line, and no longer than a glance takes."""

from __future__ import annotations

import re

LONGEST = 400  # characters; a sentence more or less does not matter
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*(?=\s)")


def on_one_line(text: str) -> str:
    """Its words with single spaces between, heading marks left out."""
    return " ".join(_HEADING.sub(r"\1", text).split())


def shorten(text: str, most: int = LONGEST) -> str:
    """At most about `most` characters: cut behind a sentence where one ends nearby, else at a space."""
    if len(text) <= most:
        return text
    nearby = [found.end() for found in _SENTENCE_END.finditer(text, most // 2, most + most // 4)]
    if nearby:
        end = min(nearby, key=lambda end: abs(end - most))
    else:
        space = text.rfind(" ", most // 2, most)
        end = space if space >= 0 else most
    return f"{text[:end].rstrip()} …" if end < len(text) else text
