"""The passages as a judge reads them: a title where the text lacks it, sentences, and where each stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from veridical.text.claims import cite
from veridical.text.sentences import sentence_spans
from veridical.types import Evidence, Passage, Span
from veridical.verification.overlap import content_words

_GIST = 12  # sentences of a passage that are read together for one claim
# Text that addresses whoever judges it instead of saying something about its subject.
_ADDRESSES_THE_JUDGE = re.compile(
    r"\b(?:ignore|disregard|forget)\b[^.]{0,40}\b(?:instructions?|rules|prompts?)\b"
    r"|\b(?:answer|reply|respond|say|output|label|mark)\b[^.]{0,30}\b(?:supported|entailed|entailment)\b"
    r"|\b(?:passage|text|document|source|context|evidence)s?\b[^.]{0,30}\b(?:supports?|proves?|confirms?|entails?)\b"
    r"[^.]{0,30}\b(?:claims?|statements?|everything|anything|all)\b"
    r"|\b(?:claims?|statements?|sentences?|everything|anything)\b[^.]{0,80}\b(?:is|are)\b[^.]{0,15}"
    r"\b(?:true|correct|supported|entailed|verified)\b",
    re.IGNORECASE,
)


class Sentence(NamedTuple):
    span: Span  # in the passage's text
    words: frozenset[str]


class Sources:
    """The passages that claims are checked against; mark n is `passages[n-1]`. Sentences are found once."""

    def __init__(self, passages: Sequence[Passage], language: str) -> None:
        self.passages = tuple(passages)
        self._language = language
        self.sentences = cache(self._split)
        self.words = cache(self._words)
        self.premise = cache(self._premise)
        self.title_words = cache(self._title_words)

    def part(self, mark: int, span: Span, words: frozenset[str]) -> tuple[str, frozenset[str]]:
        """A part of the passage, whose words are given, under its title, for a sentence often says just "it".

        The words of the whole come with it.
        """
        passage = self.passages[mark - 1]
        text = span.of(passage.text)
        premise = self._under_title(passage, text)
        return premise, words if premise == text else words | self.title_words(mark)

    def gist(self, mark: int, wanted: frozenset[str]) -> str:
        """The premise without the sentences that share no word with what is wanted; empty when none does."""
        near = [sentence for sentence in self.sentences(mark) if sentence.words & wanted]
        if len(near) == len(self.sentences(mark)) <= _GIST:
            return self.premise(mark)
        kept = sorted(sorted(near, key=lambda sentence: -len(sentence.words & wanted))[:_GIST])
        passage = self.passages[mark - 1]
        return self._under_title(passage, "\n\n".join(s.span.of(passage.text) for s in kept)) if kept else ""

    def evidence(self, mark: int, span: Span | None = None) -> Evidence:
        """The passage, or the part of it at `span`, with its exact place in the source document."""
        passage = self.passages[mark - 1]
        source = cite(mark, passage)
        if span is None:
            return Evidence(passage.text, source)
        return Evidence(span.of(passage.text), replace(source, span=span.shift(passage.span.start)))

    def _under_title(self, passage: Passage, text: str) -> str:
        title = passage.title.strip()
        if not title or title.casefold() in text.casefold():
            return text
        return f"{title}\n\n{text}"  # the blank line keeps the title a sentence of its own

    def _split(self, mark: int) -> tuple[Sentence, ...]:
        """Its sentences; one that addresses the judge has no words, so that it is never evidence."""
        text = self.passages[mark - 1].text
        return tuple(Sentence(span, _subject_words(span.of(text))) for span in sentence_spans(text, self._language))

    def _premise(self, mark: int) -> str:
        """What the judge reads: the whole passage under its title."""
        passage = self.passages[mark - 1]
        return self._under_title(passage, passage.text)

    def _words(self, mark: int) -> frozenset[str]:
        return frozenset().union(*(sentence.words for sentence in self.sentences(mark)))

    def _title_words(self, mark: int) -> frozenset[str]:
        return content_words(self.passages[mark - 1].title)


def _subject_words(sentence: str) -> frozenset[str]:
    return frozenset() if _ADDRESSES_THE_JUDGE.search(sentence) else content_words(sentence)
