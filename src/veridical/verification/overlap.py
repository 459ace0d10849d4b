"""Which content words two texts share: the guard against a judge that is fooled or guesses.

Nothing supports or contradicts a claim without sharing a word with it, whatever a judge says.
"""

from __future__ import annotations

import re

# Scripts that put no space between words count by the character.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_SUFFIX = re.compile(r"(?<=\w{3})(?:ings?|edly|ed|ies|ied|es|ers?|ors?|ions?|ments?|ly|s|e|y)$")
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the and or but nor so if then than as that this these those there here it its itself he him his she her "
        "hers they them their we us our you your i me my who whom whose which what when where why how all any both "
        "each every few many more most much no not nor none only own other others same some such too very just also "
        "of in on at by for from to into onto with without within about above after again against before below "
        "between during over under until up down out off through while because since "
        "be am is are was were been being do does did doing done have has had having can could may might must shall "
        "should will would s t d ll m re ve isn aren wasn weren don doesn didn won",
    )
)


def content_words(text: str) -> frozenset[str]:
    """The words of `text` that say something, in lower case and without endings."""
    words = _WORD.findall(text.casefold())
    return frozenset(_SUFFIX.sub("", word) for word in words if word not in _FUNCTION_WORDS)


def share_held(wanted: frozenset[str], held: frozenset[str]) -> float:
    """The share of `wanted` that is in `held`; nothing wanted is nothing held."""
    return len(wanted & held) / len(wanted) if wanted else 0.0
