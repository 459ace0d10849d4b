"""The sign that a list item begins with: `-`, `•`, `1.`, `2)`, `a)`, `(iv)`. It is no part of what the item says."""

from __future__ import annotations

import re

from veridical.text.language import looks_english

DASHES, DOTS = "-–", "*+•‣▪◦"
_SIGN = re.compile(
    rf"(?:[{DASHES}](?=[ \t]+\D)"  # a dash before a figure may be its sign: "- 5 °C"
    rf"|[{DOTS}>]|\d{{1,3}}\)|[a-zA-Z]\)|\((?:\d{{1,3}}|[a-zA-Z]|[ivx]{{1,5}})\))[ \t]+"
)
_ORDINAL = re.compile(r"\d{1,3}\.\s+")
# Many languages write a date or a rank as "3. Oktober"; there the number is the claim's own.
_DAY = re.compile(
    r"(?:januar|februar|märz|marts|mars|april|mai|maj|juni|juli|august|september|o[kc]tober|november|de[cz]ember)\b",
    re.IGNORECASE,
)
_ALONE = re.compile(
    rf"[{DASHES}{DOTS}>_\s]*\(?(?:\d{{1,3}}|[a-zA-Z]|[ivxIVX]{{1,5}})[.)][*_]*|[{DASHES}{DOTS}>][{DASHES}{DOTS}>\s]*"
)


def is_item_sign(text: str) -> bool:
    """Whether this is nothing but such a sign, as a sentence splitter leaves it."""
    return _ALONE.fullmatch(text.strip()) is not None


def item_sign(sentence: str) -> str:
    """The signs that `sentence` begins with, and the space behind them; empty when there is none."""
    end = 0
    while True:
        sign = _SIGN.match(sentence, end)
        number = _ORDINAL.match(sentence, end)
        if sign:
            end = sign.end()
        elif number and not _DAY.match(sentence, number.end()) and looks_english(sentence[number.end() :]):
            end = number.end()
        else:
            return sentence[:end]
