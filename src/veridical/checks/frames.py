"""Frames: the passage doubts, plans or makes conditional what the claim says is so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from veridical.checks.matching import Match, Sentence, common_length
from veridical.types import Finding

# What makes the whole sentence untrue.
_UNTRUE = re.compile(
    r"\b(?:myths?|misconceptions?|hoax(?:es)?|fallacy|urban legend|refut(?:e|es|ed|ing)|debunk(?:s|ed|ing)?"
    r"|disprov(?:e|es|ed|en|ing)|(?:false|untrue|wrong|incorrect|not true) (?:to \w+ )?that)\b"
)
# A condition: at the head of the sentence, or right behind what it conditions; not "you will see, if you look".
_HEAD_IF = re.compile(r"(?:and |but |so |then )?(?:if|only if|provided that|unless)\b(?! you| one| we| i\b| not| any)")
_TAIL_IF = re.compile(
    r"(?<!even)(?<!as)(?<!what)(?<!and)(?<!or)(?<!know)(?<!see)(?<!ask)(?<!asked)(?<!wonder)(?<!sure)(?<!out)(?<!tell)"
    r"(?<!determine)(?<!decide)(?<!check)(?<!,) (?:only if|if|provided that|unless)\b(?! you| one| we| i\b| not| any)"
)
# What makes the words after it untrue, or not yet so.
_AFTER = re.compile(
    r"\b(?:falsely|wrongly|mistakenly|erroneously|incorrectly|den(?:y|ies|ied|ying) (?:that|having|any)"
    r"|(?:hop(?:e|es|ed|ing)|plan(?:s|ned|ning)?|intend(?:s|ing)?"
    r"|aim(?:s|ed|ing)?|wish(?:es|ed)?|proposes?|proposed|promis(?:es|ed)|threaten(?:s|ed)) to)\b"
)
# What leaves it open.
_OPEN = re.compile(
    r"\b(?:alleg(?:e|es|ed|edly|ation|ations)|claim(?:s|ed|ing)?|rumou?r(?:s|ed)?|reportedly|supposedly|purported(?:ly)?"
    r"|(?<!in )(?<!of )(?<!\d )(?<!early )(?<!late )(?<!since )may(?! \d)"  # not the month
    r"|might|could|would|possibly|perhaps|believed|thought|said to|suspected|accused|according to|speculat\w+"
    r"|(?:wants?|wanted|intended|tried|tries|attempt(?:s|ed)|expect(?:s|ed)|seeks?) to)\b"
)
# A claim with one of these says itself that the thing is conditional or untrue.
_DOUBTED = re.compile(
    r"\b(?:if|when|whenever|whether|unless|provided|depend\w*|condition\w*|not|never|no|myths?|misconceptions?|hoax\w*"
    r"|fallacy|legend|refut\w+|debunk\w*|disprov\w+|false\w*|untrue|wrong\w*|incorrect\w*|mistaken\w*|erroneous\w*"
    r"|den(?:y|ies|ied|ying)|claim\w*|belie\w+|alleg\w+|rumou?r\w*|suppos\w+|purport\w*)\b|n't\b"
)
# And with one of these, that it is open, or still to come.
_GUARDED = re.compile(
    r"\b(?:will|shall|should|would|could|may|might|can|cannot|must|plan(?:s|ned|ning)?|hop(?:e|es|ed|ing)|inten\w+|aim\w*|want\w*"
    r"|wish\w*|propos\w+|promis\w+|threaten\w*|try\w*|tried|attempt\w*|expect\w*|report\w*|possib\w+|perhaps|thought"
    r"|think\w*|said|says?|suspect\w*|accus\w+|according|speculat\w+|suggest\w*|potential\w*|likely|seem\w*|appear\w*"
    r"|future|seek\w*|goal|need\w*|require\w*|argu\w+|contend\w*|stated)\b"
)
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W_]+(?:'[^\W_]+)*")
_END = re.compile(r"(?<!\d),|,(?!\d)|[;:()—–]|\b(?:but|while|whereas|although|though)\b")
_ALIKE = 0.7  # share of the claim's content words that a framed sentence holds
_OUTRIGHT = 0.6  # share from which another sentence says the claim outright
_SAME = 0.8  # share of them that a condition or what it leads to holds in the same order
_BEHIND = 0.5  # share of them that stand behind a word that frames only what follows


def find_frames(matches: Sequence[Match]) -> Iterator[Finding]:
    """One finding a sentence of the claim at most; kind "frame" where the passage denies it or makes it conditional,
    "report" where it leaves it open.
    """
    for claimed, near in matches:
        if not near or near[0][0] < _ALIKE or _DOUBTED.search(claimed.text):
            continue
        guarded = bool(_GUARDED.search(claimed.text))
        found = [_frame(claimed, other, guarded) for share, other in near if share >= _OUTRIGHT]
        if not all(found):  # some sentence says it outright
            continue
        kind, cue = found[0] or ("", "")
        yield Finding(kind, claimed.raw, f"the passage has it only with “{cue}”")


def _frame(claimed: Sentence, other: Sentence, guarded: bool) -> tuple[str, str] | None:
    """The kind of frame that the sentence puts around the claim, and its words."""
    if untrue := _UNTRUE.search(other.text):
        return "frame", untrue[0]
    if conditional := _conditional(claimed, other):
        return conditional
    if guarded:
        return None
    for kind, pattern in (("frame", _AFTER), ("report", _OPEN)):
        for cue in pattern.finditer(other.text):
            behind = _words_behind(other, cue.end())
            if len(behind & claimed.words) >= _BEHIND * len(claimed.words):
                return kind, cue[0]
    return None


def _conditional(claimed: Sentence, other: Sentence) -> tuple[str, str] | None:
    """A frame when the claim is, nearly word for word, what happens on a condition or the condition itself.

    Said in other words, it may as well be the rule that the condition stands for: "If cooled, water freezes".
    """
    condition = _HEAD_IF.match(other.text) or _TAIL_IF.search(other.text)
    if not condition:
        return None
    cue = condition[0].strip()
    ours = list(filter(None, claimed.stems))
    head = condition.start() == 0
    clauses = _read_clauses(other.text if head else other.text[: condition.start()], other)
    # A condition behind its sentence goes with the last clause alone.
    same = max(common_length(ours, clause) for clause in (clauses if head else clauses[-1:]))
    if same >= _SAME * len(ours):
        return "frame", cue
    return ("report", cue) if head else None


def _read_clauses(text: str, sentence: Sentence) -> list[list[str]]:
    """The stems of the content words of each clause of `text`, the sentence or its beginning, in order."""
    stems = dict(zip(sentence.tokens, sentence.stems, strict=True))
    return [[stem for token in _WORD.findall(clause) if (stem := stems.get(token, ""))] for clause in _END.split(text)]


def _words_behind(sentence: Sentence, start: int) -> frozenset[str]:
    """The stems of the content words from `start` to the end of the clause."""
    return frozenset(_read_clauses(sentence.text[start:], sentence)[0])
