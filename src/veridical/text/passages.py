"""A passage as it is searched for by meaning: its place in the document, then its words."""

from __future__ import annotations

from veridical.types import Passage


def searchable_text(passage: Passage) -> str:
    """Title, heading path and text, a line each: what is embedded.

    What the passage's first line already says is not said twice.
    """
    first = passage.text.split("\n", 1)[0].strip("# \t")
    path = passage.heading[:-1] if passage.heading[-1:] == (first,) else passage.heading
    context = dict.fromkeys(part for part in (passage.title, " > ".join(path)) if part and part != first)
    return "\n".join([*context, passage.text])
