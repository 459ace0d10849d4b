"""Negation: the claim denies what the passage says, or says what the passage denies."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from veridical.checks.words import STOP_WORDS, fold, listed, stem
from veridical.types import Finding

_END = re.compile(r"(?<=[.!?])\s+|\n+")
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[,;:()—–.!?]")
_CUES = frozenset(
    listed("""
    not never no without neither nor none nobody nothing cannot cant wont dont doesnt didnt isnt arent wasnt werent
    hasnt havent hadnt couldnt wouldnt shouldnt failed fails fail failing denied denies deny refused refuses refuse
    unable
    """)
)
# Words that deny without a form of "not": a sentence that has one is read neither way.
_NEGATIVE = frozenset(
    listed("""
    lack lacks lacked lacking absence absent zero 0 unlikely rarely hardly seldom scarcely barely few little free false
    except excluding unless instead impossible stopped ceased ended prevent prevents prevented avoid avoids avoided
    rejected reject rejects unknown neutral
    """)
)
# Where another clause begins, a negation ends.
_CLAUSE = frozenset(
    listed("""
    he she it they we you i who which that because if when while although though but whether as than until unless
    """)
)
# After these a negation denies nothing.
_HARMLESS_NEXT = frozenset(
    listed(
        "only just merely simply least less more fewer doubt matter later earlier sooner necessarily all every always"
    )
)
_HARMLESS_BEFORE = frozenset({"or", "if", "why", "whether", "but"})
_SCOPE = 2  # content words after a negation that it denies
_REACH = 5  # tokens it reaches at most
_ALIKE = 0.7  # share of a claim's content words in a sentence from which the two say much the same
_SAME = 0.9
_NEAR = 0.5  # share from which a sentence may speak for the claim
_COVERED = 0.6  # share of a sentence's content words that a claim must have to be denied by it
_MOST = 500_000  # pairs of a word and a sentence that are looked at, so that no text takes more than linear time
_FEWEST = 3  # content words; a shorter claim is alike to anything


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence as the stems of its content words, and those that stand under a negation, with its cue."""

    words: frozenset[str]
    denied: dict[str, str]
    negative: bool  # whether any word of it denies, if only by its meaning


def find_negations(claim: str, evidence: str) -> Iterator[Finding]:
    """One finding a sentence of the claim at most; kind "negation" when the words are nearly all the same,
    "polarity" when they are much the same.
    """
    claimed = [s for s in _read_statements(claim) if len(s.words) >= _FEWEST]
    if not claimed:
        return
    statements = _read_statements(evidence)
    if not any(s.denied for s in (*claimed, *statements)):
        return
    places = defaultdict(list)
    for place, statement in enumerate(statements):
        for word in statement.words:
            places[word].append(place)
    effort = 0
    for statement in claimed:
        effort += sum(len(places.get(word, ())) for word in statement.words)
        if effort > _MOST:
            return
        counts = Counter(place for word in statement.words for place in places.get(word, ()))
        near = [(count / len(statement.words), statements[place]) for place, count in counts.items()]
        yield from _compare(statement, [(share, other) for share, other in near if share >= _NEAR])


def _compare(claimed: Statement, near: list[tuple[float, Statement]]) -> Iterator[Finding]:
    """A finding when a word stands under a negation in the claim or in all that is near to it, but not in both."""
    best = max((share for share, _ in near), default=0.0)
    if best < _ALIKE:
        return
    kind = "negation" if best >= _SAME else "polarity"
    for word, cue in claimed.denied.items():
        holding = [other for _, other in near if word in other.words]
        alike = any(share >= _ALIKE and word in other.words for share, other in near)
        if alike and not any(other.negative for other in holding):
            yield Finding(kind, cue, f"the claim denies what the passage says ({cue})")
            return
    if claimed.negative:
        return
    for share, other in near:
        # A long sentence may deny something beside the point: the claim must cover most of what it says.
        if share < _ALIKE or share * len(claimed.words) < _COVERED * len(other.words):
            continue
        for word, cue in other.denied.items():
            if word in claimed.words and all(word in rest.denied for _, rest in near if word in rest.words):
                yield Finding(kind, cue, f"the passage denies what the claim says ({cue})")
                return


def _read_statements(text: str) -> list[Statement]:
    """The sentences of `text` that are no questions, each once."""
    stems = Stems()
    sentences = dict.fromkeys(sentence.strip() for sentence in _END.split(fold(text)))
    return [_read_statement(sentence, stems) for sentence in sentences if sentence and not sentence.endswith("?")]


class Stems(dict[str, str]):
    """The stem of each word, empty for what is no content word; kept, for the same words come again and again."""

    def __missing__(self, token: str) -> str:
        self[token] = stem(token) if _is_content(token) else ""
        return self[token]


def _read_statement(sentence: str, stems: Stems) -> Statement:
    tokens = _TOKEN.findall(sentence)
    words = frozenset(stems[token] for token in tokens) - {""}
    if "n't" not in sentence and _CUES.isdisjoint(tokens):
        return Statement(words, {}, not _NEGATIVE.isdisjoint(tokens))
    denied: dict[str, str] = {}
    for place, token in enumerate(tokens):
        if not _is_cue(tokens, place):
            continue
        for word in _scope(tokens, place, stems):
            if word in denied:  # "never without": denied twice is said
                del denied[word]
            else:
                denied[word] = token
    return Statement(words, denied, True)


def _denies(token: str) -> bool:
    return token.replace("'", "") in _CUES or token.endswith("n't")


def _is_content(token: str) -> bool:
    return token[0].isalnum() and token not in STOP_WORDS and token.replace("'", "") not in _CUES


def _is_cue(tokens: list[str], place: int) -> bool:
    word = tokens[place]
    if not _denies(word) or "if" in tokens[max(place - 4, 0) : place]:
        return False
    after = tokens[place + 1] if place + 1 < len(tokens) else ""
    before = tokens[place - 1] if place else ""
    numbered = word == "no" and (after == "." or after[:1].isdecimal())  # "No. 1"
    reply = word == "no" and place == 0 and len(tokens) > 4  # "No, it was …"
    return after not in _HARMLESS_NEXT and not reply and before not in _HARMLESS_BEFORE and not numbered


def _scope(tokens: list[str], place: int, stems: Stems) -> list[str]:
    """The stems of the next content words, up to the end of the clause."""
    words: list[str] = []
    for token in tokens[place + 1 : place + 1 + _REACH]:
        if not token[0].isalnum() or token in _CLAUSE or len(words) == _SCOPE:
            break
        if stems[token]:
            words.append(stems[token])
    return words
