"""Porter's stemmer (1980) with the corrections that the public ROUGE scorer inherits from NLTK."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

_Test: TypeAlias = Callable[[str], bool]
_Rule: TypeAlias = tuple[str, str, _Test]

_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}


def porter_stem(word: str) -> str:
    """The stem of a lower-case word."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and len(word) > 2 and _shape(word[:-1])[-1] == "c":
        word = word[:-1] + "i"
    word = _second(word)
    word = _apply(_THIRD, word)
    word = _apply(_FOURTH, word)
    return _final(word)


def _shape(word: str) -> str:
    """A `c` for each consonant and a `v` for each vowel; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _measure(stem: str) -> int:
    """Porter's m: how often a vowel is followed by a consonant."""
    return _shape(stem).count("vc")


def _positive(stem: str) -> bool:
    return _measure(stem) > 0


def _longer(stem: str) -> bool:
    return _measure(stem) > 1


def _always(_stem: str) -> bool:
    return True


def _ends_cvc(word: str) -> bool:
    """Porter's *o; a two-letter vowel-consonant word counts too."""
    shape = _shape(word)
    return (shape[-3:] == "cvc" and word[-1] not in "wxy") or shape == "vc"


def _apply(rules: Sequence[_Rule], word: str) -> str:
    """The first rule whose suffix fits decides, even when its test then fails."""
    for suffix, instead, test in rules:
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            return stem + instead if test(stem) else word
    return word


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    return _apply(_FIRST, word)


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _positive(word[:-3]) else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if stem != word and "v" in _shape(stem):
            return _mend(stem)
    return word


def _mend(stem: str) -> str:
    """A stem that has lost -ed or -ing gets its e back, or loses its doubled letter."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if len(stem) > 1 and stem[-1] == stem[-2] and _shape(stem)[-1] == "c":
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_cvc(stem) else stem


def _second(word: str) -> str:
    if word.endswith("alli"):
        return _second(word[:-2]) if _positive(word[:-4]) else word
    if word.endswith("logi"):
        return word[:-1] if _positive(word[:-3]) else word
    return _apply(_SECOND, word)


def _final(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        if _longer(stem) or (_measure(stem) == 1 and not _ends_cvc(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _longer(word[:-1]) else word


def _rules(table: str, test: _Test) -> tuple[_Rule, ...]:
    """`suffix>instead` rules, in order of trial."""
    return tuple((suffix, instead, test) for suffix, instead in re.findall(r"(\w+)>(\w*)", table))


_FIRST = _rules("sses>ss ies>i ss>ss s>", _always)
_SECOND = _rules(
    "ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble entli>ent eli>e ousli>ous ization>ize ation>ate "
    "ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble fulli>ful",
    _positive,
)
_THIRD = _rules("icate>ic ative> alize>al iciti>ic ical>ic ful> ness>", _positive)
_FOURTH = (
    *_rules("al> ance> ence> er> ic> able> ible> ant> ement> ment> ent>", _longer),
    ("ion", "", lambda stem: _longer(stem) and stem.endswith(("s", "t"))),
    *_rules("ou> ism> ate> iti> ous> ive> ize>", _longer),
)
