"""A passage as it is searched for: its place in the document, then its words."""

from __future__ import annotations

from veridical.types import Passage


def searchable_text(passage: Passage) -> str:
    """Title and heading path on a line of their own, then the text. This is what is embedded."""
    path = list(passage.heading) if passage.title in passage.heading else [passage.title, *passage.heading]
    lead = " › ".join(part for part in path if part)
    return f"{lead}\n{passage.text}" if lead else passage.text
