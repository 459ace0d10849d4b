"""Words as the checks compare them: without case, accents, possessives and endings."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHES = str.maketrans("’‘ʼ`´", "'''''")
_POSSESSIVE = re.compile(r"'s\b")
_ENDINGS = ("ingly", "edly", "ing", "ied", "ies", "ed", "es", "ly", "d", "e", "s", "y")


def listed(words: str) -> tuple[str, ...]:
    """A table of words, written as text."""
    return tuple(words.split())


STOP_WORDS = frozenset(
    listed("""
    a about above after again against all also although am among an and any are as at be because been before being
    below between both but by can could did do does doing during each either even few for from further had has have
    having he her here hers herself him himself his how however i if in into is it its itself just may me might more
    most much must my myself of off on once only or other our ours out over own per quite rather same shall she should
    since so some still such than that the their theirs them themselves then there therefore these they this those
    though through thus to too under until up upon us very was we were what when where whether which while who whom
    whose why will with within would yet you your yours
    """)
)
# Words that deny what follows them.
CUES = frozenset(
    listed("""
    not never no without neither nor none nobody nothing cannot cant wont dont doesnt didnt isnt arent wasnt werent
    hasnt havent hadnt couldnt wouldnt shouldnt failed fails fail failing denied denies deny refused refuses refuse
    unable
    """)
)


def fold(text: str) -> str:
    """Lower case, without accents, typographic apostrophes made plain; pieces fold as they do within a whole."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.translate(_APOSTROPHES))
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


def split_words(text: str) -> list[str]:
    """The folded words of `text` in order, possessives stripped."""
    return _WORD.findall(_POSSESSIVE.sub("", fold(text)))


def stem(word: str) -> str:
    """`word` without a usual English ending, so that "opens", "opened" and "opening" agree; never under 3 letters."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def denies(token: str) -> bool:
    """Whether a folded token denies what follows it."""
    return token.replace("'", "") in CUES or token.endswith("n't")
