"""What a sentence looks like to a question, in numbers: word overlap, place in the results, kind of answer offered."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from veridical.models.quote.expected import Kind, kind_of, offers
from veridical.text.sentences import sentence_spans
from veridical.types import Passage

_WORD = re.compile(r"\w+")
_POSSESSIVE = re.compile(r"['’]s\b")
_SUFFIX = re.compile(r"(?<=\w{3})(?:ings?|edly|ed|ies|es|ers?|ors?|ions?|ment|ly|s|e|y)$")
_STOPWORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been being by can could did do does for from had has have he her his how i if in into "
        "is it its many may me might much my of on or our she should so some such than that the their them then there "
        "these they this those to us was we were what when where which who whom whose why will with would you your",
    )
)
_SENTENCE_END = re.compile(r"[.!?…。！？]\W*$")
_HEADING = re.compile(r"#{1,6} ")
_PRONOUN = re.compile(r"(?:he|she|it|they|his|her|its|their|this|these|that|those)\b", re.I)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of passage number `mark`, with what can be known of it before anything is embedded."""

    mark: int
    text: str  # white space normalised
    lead: str  # title and heading path of its passage
    overlap: float  # share of the question's words, rare ones weighing more, that the sentence holds
    overlap_lead: float  # the same with title and heading counted in
    phrases: float  # share of the question's word pairs that the sentence holds
    offers: bool  # it holds what the question asks for: a name, a date, a number …
    expects: bool  # the question asks for something recognisable
    first: bool  # it opens its passage
    pronoun: bool  # it begins with he, it, this …
    words: int

    @property
    def in_context(self) -> str:
        """What is embedded: a sentence alone often does not say what it is about."""
        return f"{self.lead}: {self.text}" if self.lead else self.text

    def numbers(self, cosine: float) -> tuple[float, ...]:
        """The inputs of the fitted score; the first is the constant one."""
        missed = self.expects and not self.offers
        return (
            1.0,
            cosine,
            self.overlap,
            self.overlap_lead,
            self.phrases,
            float(self.offers),
            float(missed),
            1.0 / self.mark,
            float(self.first),
            float(self.pronoun),
            float(self.text.endswith("?")),
            self.overlap_lead * cosine,
        )

    def quick_score(self) -> float:
        """Good enough to choose which sentences are worth embedding."""
        return self.overlap_lead + self.overlap + 0.5 * self.offers + 0.3 / self.mark - 0.5 * (self.words < 5)


def stems(text: str) -> list[str]:
    """Lower-case words without endings, stopwords left out."""
    words = _WORD.findall(_POSSESSIVE.sub("", text.lower()))
    return [_SUFFIX.sub("", word) for word in words if word not in _STOPWORDS]


def find_candidates(question: str, passages: Sequence[Passage], language: str = "en") -> list[Candidate]:
    """Every sentence with a word in it, headings left out, in the order of the passages."""
    split = [[" ".join(span.of(p.text).split()) for span in sentence_spans(p.text, language)] for p in passages]
    documents = [set(stems(sentence)) for sentences in split for sentence in sentences]
    frequency = Counter(stem for document in documents for stem in document)
    asked = stems(question)
    weights = {stem: math.log(1 + (len(documents) + 1) / (frequency[stem] + 0.5)) for stem in asked}
    kind = kind_of(question)
    found = []
    for mark, (passage, sentences) in enumerate(zip(passages, split, strict=True), 1):
        lead = " › ".join(dict.fromkeys(part for part in (passage.title, *passage.heading) if part))
        for position, sentence in enumerate(sentences):
            own = stems(sentence)
            if _is_heading(sentence, own, asked) or not _WORD.search(sentence):
                continue
            found.append(
                Candidate(
                    mark=mark,
                    text=sentence,
                    lead=lead,
                    overlap=_share(weights, set(own)),
                    overlap_lead=_share(weights, {*own, *stems(lead)}),
                    phrases=_shared_pairs(asked, own),
                    offers=offers(kind, sentence, question),
                    expects=kind is not Kind.OPEN,
                    first=position == 0,
                    pronoun=bool(_PRONOUN.match(sentence)),
                    words=len(_WORD.findall(sentence)),
                )
            )
    return found


def _is_heading(sentence: str, own: Sequence[str], asked: Sequence[str]) -> bool:
    """Marked as one, or a fragment that only repeats words of the question."""
    return bool(_HEADING.match(sentence)) or (not _SENTENCE_END.search(sentence) and set(own) <= set(asked))


def _share(weights: dict[str, float], held: set[str]) -> float:
    total = sum(weights.values())
    return sum(weight for stem, weight in weights.items() if stem in held) / total if total else 0.0


def _shared_pairs(asked: Sequence[str], held: Sequence[str]) -> float:
    pairs = set(pairwise(asked))
    return len(pairs & set(pairwise(held))) / len(pairs) if pairs else 0.0
