"""How answers are made comparable before strings are matched."""

from __future__ import annotations

import re
import string

from veridical.text.marks import renumber_marks

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_MARK = re.compile(r" ?\[\d+\]")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def normalise_answer(text: str) -> str:
    """SQuAD's and ALCE's form: lower case, no ASCII punctuation, no articles, single spaces; in this order."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def normalise_case(text: str) -> str:
    """CoV-RAG's form: lower case, no ASCII punctuation, single spaces; articles stay."""
    return " ".join(text.lower().translate(_PUNCTUATION).split())


def drop_marks(text: str) -> str:
    """`text` without its citation marks and the space before each; every other character stays, as in ALCE."""
    return _MARK.sub("", renumber_marks(text, lambda number: number))
