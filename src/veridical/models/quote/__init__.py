"""The writer without a language model: it picks the sentences that answer and quotes them, each with its mark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from veridical.models.quote.expected import numbers_in
from veridical.models.quote.features import Candidate, find_candidates, stems
from veridical.models.quote.score import THRESHOLD, probability, shortlist
from veridical.text.marks import format_marks, strip_marks
from veridical.types import Draft, Passage

if TYPE_CHECKING:
    from veridical.ports import Embedder

MOST_QUOTES = 3
ALSO_GOOD = 0.8  # a further sentence is quoted when it is nearly as probable as the best …
RIVAL = 0.5  # … or half as probable, when it tells the same matter differently
ALIKE = 0.5  # share of words in common from which two sentences tell the same matter


class Quote(NamedTuple):
    """A sentence, the numbers of every passage that holds it word for word, and how probably it answers."""

    text: str
    marks: tuple[int, ...]
    probability: float


class QuoteWriter:
    """Quotes one to three sentences verbatim (white space and footnote marks aside), the most probable first.

    Sources that disagree are quoted side by side. Abstains when no sentence is probable enough.
    The word lists are English; in other languages it falls back on words in common.
    """

    def __init__(self, embedder: Embedder, language: str = "en") -> None:
        self.embedder = embedder
        self.language = language

    async def write(self, question: str, passages: Sequence[Passage]) -> Draft:
        given = tuple(passages)
        if not given:
            return Draft("", given, "nothing was found to quote from")
        quotes = choose(question, await self.rank(question, given))
        if not quotes:
            return Draft("", given, f"no sentence of the {len(given)} passages found answers the question")
        return Draft("\n\n".join(f"{q.text} {format_marks(q.marks)}" for q in quotes), given)

    async def rank(self, question: str, passages: Sequence[Passage]) -> list[Quote]:
        """The shortlisted sentences, the most probable first."""
        chosen = shortlist(find_candidates(question, passages, self.language))
        vectors = await self.embedder.embed([question, *(candidate.in_context for candidate in chosen)])
        cosines = [float(cosine) for cosine in vectors[1:] @ vectors[0]]
        return _merge(chosen, [probability(c, cosine) for c, cosine in zip(chosen, cosines, strict=True)])


def choose(question: str, ranked: Sequence[Quote], threshold: float = THRESHOLD) -> list[Quote]:
    """The quotes that make the answer; none when even the best is less probable than `threshold`."""
    good = [quote for quote in ranked if quote.probability >= threshold]
    chosen = good[:1]
    for quote in good[1:]:
        if len(chosen) == MOST_QUOTES:
            break
        share = RIVAL if any(_rivals(quote, other, question) for other in chosen) else ALSO_GOOD
        if quote.probability >= share * chosen[0].probability and _adds(quote, chosen):
            chosen.append(quote)
    return chosen


def _merge(candidates: Sequence[Candidate], probabilities: Sequence[float]) -> list[Quote]:
    merged: dict[str, Quote] = {}
    for candidate, p in sorted(zip(candidates, probabilities, strict=True), key=lambda pair: -pair[1]):
        text = strip_marks(candidate.text)  # a source's own footnote [3] would read as a citation of ours
        known = merged.get(text, Quote(text, (), p))
        merged[text] = known._replace(marks=tuple(sorted({*known.marks, candidate.mark})))
    return list(merged.values())


def _rivals(one: Quote, other: Quote, question: str) -> bool:
    """Two sources on the same matter whose figures differ, or which share most words but not all."""
    if set(one.marks) & set(other.marks):
        return False
    figures = [numbers_in(quote.text) - numbers_in(question) for quote in (one, other)]
    words = [set(stems(quote.text)) for quote in (one, other)]
    shared = len(words[0] & words[1]) / max(1, min(map(len, words)))
    return shared >= ALIKE and (figures[0] != figures[1] or not any(figures))


def _adds(quote: Quote, chosen: Sequence[Quote]) -> bool:
    said = {stem for other in chosen for stem in stems(other.text)}
    return not set(stems(quote.text)) <= said
