"""Small changes to a sentence that keep its meaning or break it: what subtle errors are made of.

Every function takes the random source it draws from and returns the changed sentence, or None when the sentence
offers nothing to change. None of them transposes digits or mixes two names: those are the rules
of the test (`judge_tests.swap_test`), which training must not see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w])")
YEAR = re.compile(r"\b(1[0-9]{3}|20[0-2][0-9])\b")
NAME = re.compile(r"\b[A-Z][\w'’-]+(?:\s+(?:of|the|de|van|von|and)\s+(?=[A-Z]))?(?:\s+[A-Z][\w'’-]+){0,3}")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”’']?\s+(?=[\"“‘'A-Z0-9])|\n+")
_SHORT = re.compile(r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|No|Jr|Sr|vs|etc|Inc|Ltd|Co|Prof|Gen|Col|Lt|U\.S|e\.g|i\.e|c|ca)\.$")

SYNONYMS = (
    ("was founded", "was established"), ("is located in", "is situated in"), ("is located in", "lies in"),
    ("film", "movie"), ("began", "started"), ("died", "passed away"), ("approximately", "about"),
    ("company", "firm"), ("was born in", "came into the world in"), ("won", "was awarded"), ("released", "put out"),
    ("author", "writer"), ("physician", "doctor"), ("attorney", "lawyer"), ("purchased", "bought"),
    ("commenced", "began"), ("numerous", "many"), ("however", "but"), ("also known as", "also called"),
    ("is a town in", "is a place in"), ("served as", "worked as"), ("received", "got"), ("located", "found"),
    ("constructed", "built"), ("originally", "at first"), ("primarily", "mainly"), ("consists of", "is made up of"),
    ("currently", "now"), ("employed", "used"), ("husband", "spouse"), ("wife", "spouse"), ("obtained", "got"),
    ("children", "kids"), ("attended", "went to"), ("depicts", "shows"), ("annually", "every year"),
    ("utilized", "used"), ("vehicle", "car"), ("portrayed", "played"), ("resides in", "lives in"),
    ("demonstrated", "showed"), ("required", "needed"), ("assist", "help"), ("prior to", "before"),
)  # fmt: skip
OPPOSITES = (
    ("first", "last"), ("before", "after"), ("north", "south"), ("northern", "southern"), ("east", "west"),
    ("eastern", "western"), ("increased", "decreased"), ("increase", "decrease"), ("more", "less"), ("won", "lost"),
    ("male", "female"), ("largest", "smallest"), ("larger", "smaller"), ("highest", "lowest"), ("higher", "lower"),
    ("always", "never"), ("many", "few"), ("son", "daughter"), ("father", "mother"), ("brother", "sister"),
    ("older", "younger"), ("oldest", "youngest"), ("early", "late"), ("public", "private"), ("high", "low"),
    ("best", "worst"), ("most", "least"), ("long", "short"), ("old", "new"), ("former", "current"),
    ("husband", "wife"), ("king", "queen"), ("opened", "closed"), ("began", "ended"), ("start", "end"),
    ("success", "failure"), ("successful", "unsuccessful"), ("common", "rare"), ("major", "minor"),
    ("positive", "negative"), ("above", "below"), ("rural", "urban"), ("left", "right"), ("joined", "left"),
    ("accepted", "rejected"), ("including", "excluding"), ("inside", "outside"), ("same", "different"),
    ("rose", "fell"), ("gained", "lost"), ("supported", "opposed"), ("summer", "winter"), ("day", "night"),
    ("American", "British"), ("English", "French"), ("German", "Italian"), ("Indian", "Chinese"),
    ("actor", "politician"), ("singer", "painter"), ("film", "novel"), ("album", "book"), ("football", "tennis"),
    ("city", "village"), ("river", "mountain"), ("university", "hospital"), ("comedy", "tragedy"),
    ("can", "cannot"), ("with", "without"), ("agreed", "refused"), ("alive", "dead"), ("strong", "weak"),
)  # fmt: skip
STRONGER = (
    ("some", "all"), ("many", "all"), ("one of the", "the only one of the"), ("often", "always"), ("may", "must"),
    ("can", "must"), ("sometimes", "always"), ("several", "all"), ("usually", "always"), ("most", "all"),
    ("could", "did"), ("might", "will"), ("about", "exactly"), ("nearly", "exactly"), ("including", "only"),
    ("possibly", "certainly"), ("probably", "certainly"), ("planned to", "managed to"), ("tried to", "managed to"),
)  # fmt: skip
_AUXILIARY = re.compile(r"\b(is|was|are|were|has|have|had|can|will|would|could|should|did|does|do)\b(?! not|n't)")
_NEGATED = re.compile(r"\b(is|was|are|were|has|have|had|can|will|would|could|should|did|does|do) not\b")
_PAST = re.compile(r"^((?:[A-Z][\w'’.-]*\s){1,4})(won|wrote|became|made|played|joined|moved|released|led|took|held)\b")
_DETAILS = (
    "in {year}", "for {number} years", "together with {name}", "because of {name}", "near {name}",
    "at the request of {name}", "with the help of {name}", "despite criticism from {name}", "for the first time",
    "for the second time", "after long negotiations", "according to {name}", "in honour of {name}",
)  # fmt: skip

Edit: TypeAlias = "Callable[[str, Pool, Random], str | None]"


@dataclass
class Pool:
    """What replacements are drawn from: the passage's own names and numbers first, then the corpus's."""

    names: Sequence[str]
    numbers: Sequence[str]
    local: str = ""

    def another_name(self, name: str, rng: Random) -> str | None:
        near = [found for found in names_in(self.local) if found != name and not _overlap(found, name)]
        shape = len(name.split())
        far = [self.names[rng.randrange(len(self.names))] for _ in range(8)]
        far = [found for found in far if not _overlap(found, name)]
        alike = [found for found in near if len(found.split()) == shape] or near
        if alike and rng.random() < 0.6:
            return str(rng.choice(alike))
        return next((found for found in far if len(found.split()) == shape), far[0] if far else None)

    def another_number(self, number: str, rng: Random) -> str:
        if YEAR.fullmatch(number):
            return str(int(number) + rng.choice([-30, -12, -7, -4, -3, -2, -1, 1, 2, 3, 5, 9, 20]))
        near = [found for found in NUMBER.findall(self.local) if found != number and not YEAR.fullmatch(found)]
        if near and rng.random() < 0.5:
            return str(rng.choice(near))
        value = int(re.sub(r"[,.].*", "", number) or 0)
        return str(max(0, value + rng.choice([-3, -2, -1, 1, 2, 3, 5, 7, 11])) if value < 60 else value * 3 // 2 + 1)


def split(text: str) -> list[str]:
    """Sentences by punctuation: quick and rough, which is enough to make training rows."""
    pieces: list[str] = []
    for piece in _SENTENCE_END.split(text):
        if pieces and _SHORT.search(pieces[-1]):
            pieces[-1] += f" {piece}"
        elif piece.strip():
            pieces.append(piece.strip())
    return pieces


def names_in(text: str) -> list[str]:
    """Capitalised runs of words; a single word that only begins a sentence is no name."""
    found = []
    for match in NAME.finditer(text):
        begins = match.start() == 0 or text[: match.start()].rstrip()[-1:] in '.!?"“:'
        if not (begins and " " not in match.group()) and len(match.group()) > 2:
            found.append(match.group())
    return found


def _overlap(one: str, other: str) -> bool:
    return bool(set(one.lower().split()) & set(other.lower().split()))


def _swap_word(sentence: str, table: Sequence[tuple[str, str]], rng: Random, *, both_ways: bool) -> str | None:
    options = []
    for one, other in table:
        for source, target in ((one, other), (other, one)) if both_ways else ((one, other),):
            match = re.search(rf"\b{re.escape(source)}\b", sentence)
            if match:
                options.append(sentence[: match.start()] + target + sentence[match.end() :])
    return rng.choice(options) if options else None


# ── what breaks a sentence ───────────────────────────────────────────────────────────────────────


def change_number(sentence: str, pool: Pool, rng: Random) -> str | None:
    matches = list(NUMBER.finditer(sentence))
    if not matches:
        return None
    match = rng.choice(matches)
    return sentence[: match.start()] + pool.another_number(match.group(), rng) + sentence[match.end() :]


def change_name(sentence: str, pool: Pool, rng: Random) -> str | None:
    names = names_in(sentence)
    if not names:
        return None
    name = rng.choice(names)
    other = pool.another_name(name, rng)
    return sentence.replace(name, other, 1) if other else None


def exchange_names(sentence: str, _pool: Pool, rng: Random) -> str | None:
    names = list(dict.fromkeys(names_in(sentence)))
    if len(names) < 2:
        return None
    one, other = rng.sample(names, 2)
    if _overlap(one, other):
        return None
    return sentence.replace(one, "\0", 1).replace(other, one, 1).replace("\0", other, 1)


def negate(sentence: str, _pool: Pool, rng: Random) -> str | None:
    if _NEGATED.search(sentence):
        return _NEGATED.sub(r"\1", sentence, count=1)
    past = _PAST.match(sentence)
    if past and rng.random() < 0.5:
        return sentence[: past.end(1)] + "never " + sentence[past.end(1) :]
    match = _AUXILIARY.search(sentence)
    if not match:
        return None
    word = rng.choice(["not", "not", "never", "no longer"])
    return f"{sentence[: match.end()]} {word}{sentence[match.end() :]}"


def use_opposite(sentence: str, _pool: Pool, rng: Random) -> str | None:
    return _swap_word(sentence, OPPOSITES, rng, both_ways=True)


def strengthen(sentence: str, _pool: Pool, rng: Random) -> str | None:
    return _swap_word(sentence, STRONGER, rng, both_ways=False)


def add_detail(sentence: str, pool: Pool, rng: Random) -> str | None:
    detail = rng.choice(_DETAILS).format(
        year=rng.randint(1850, 2022), number=rng.randint(2, 40), name=pool.names[rng.randrange(len(pool.names))]
    )
    return f"{sentence.rstrip('.')} {detail}."


CONTRADICTS: tuple[Edit, ...] = (change_number, change_number, negate, use_opposite)
BREAKS: tuple[Edit, ...] = (change_number, change_number, change_name, change_name, exchange_names, negate,
                            use_opposite, use_opposite, strengthen, add_detail)  # fmt: skip


# ── what keeps it ────────────────────────────────────────────────────────────────────────────────


def simplify(sentence: str, title: str, rng: Random) -> str:
    """A claim that follows from the sentence: parts left out, words replaced, the pronoun named."""
    claim = re.sub(r"\s*\([^()]*\)", "", sentence) if rng.random() < 0.6 else sentence
    lead = re.match(r"(?:In|On|At|During|After|By|From|Since|As of)\b[^,.;]{2,45}, (?=\w)", claim)
    if lead and rng.random() < 0.5:
        rest = claim[lead.end() :]
        claim = rest[0].upper() + rest[1:]
    tail = re.search(r", (?:which|who|where|whose|while|and|but|with|including|although)\b[^,]*\.?$", claim)
    if tail and tail.start() > 25 and rng.random() < 0.6:
        claim = claim[: tail.start()].rstrip(",;") + "."
    pronoun = re.match(r"(He|She|It|They)\b (?=is|was|has|had|were|are|[a-z]+ed\b)", claim)
    plain = re.sub(r"\s*\(.*", "", title)
    if pronoun and plain and rng.random() < 0.6:
        claim = plain + claim[pronoun.end(1) :]
    made = re.match(
        r"(.{3,60}?) (?:is|was) an? (.{2,60}?),? (directed|written|produced|founded|composed) by (.+)", claim
    )
    if made and rng.random() < 0.4:
        by = names_in(f"x {made.group(4)}")
        if by:
            claim = f"{by[0]} {_ACTIVE[made.group(3)]} {made.group(1)}."
    if rng.random() < 0.5:
        claim = _swap_word(claim, SYNONYMS, rng, both_ways=False) or claim
    return claim


_ACTIVE = {"directed": "directed", "written": "wrote", "produced": "produced", "founded": "founded",
           "composed": "composed"}  # fmt: skip


def compare(sentence: str, rng: Random) -> tuple[str, str] | None:
    """(a claim that follows, one that is false): a number or a year said as a bound instead of exactly."""
    match = re.search(r"\bin (1[0-9]{3}|20[0-2][0-9])\b", sentence)
    if match:
        year, gap = int(match.group(1)), rng.choice([1, 2, 3, 5, 10, 25])
        words = ("before", "after") if rng.random() < 0.5 else ("after", "before")
        bound = year + gap if words[0] == "before" else year - gap
        return tuple(f"{sentence[: match.start()]}{word} {bound}{sentence[match.end() :]}" for word in words)  # type: ignore[return-value]
    counted = re.search(r"(?<![\w.,$£€])(\d{1,3}(?:,\d{3})+|\d{2,6})(?= [a-z]{4,})", sentence)
    if not counted or YEAR.fullmatch(counted.group(1)):
        return None
    value = int(counted.group(1).replace(",", ""))
    words = ("more than", "fewer than") if rng.random() < 0.5 else ("fewer than", "more than")
    factor = rng.choice([0.5, 0.8, 0.9]) if words[0] == "more than" else rng.choice([1.1, 1.5, 2])
    bound = int(value * factor) + (words[0] == "fewer than")
    if bound == value:
        return None
    return tuple(f"{sentence[: counted.start()]}{word} {bound}{sentence[counted.end() :]}" for word in words)  # type: ignore[return-value]
