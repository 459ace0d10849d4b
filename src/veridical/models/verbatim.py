"""The strictest judge there is: a claim is entailed when the premise holds it word for word, as whole sentences.

It never errs on the side of support, and it cannot recognise a paraphrase: those it calls neutral.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from veridical.text.items import item_sign
from veridical.text.marks import strip_marks
from veridical.text.sentences import sentence_spans
from veridical.types import Entailment

if TYPE_CHECKING:
    from veridical.ports import Judge

_SILENT = Entailment(0.0, 1.0, 0.0)


class Verbatim:
    threshold = 1.0  # it says yes or no, nothing between

    def declines(self, text: str) -> str:  # noqa: ARG002 - it compares words, whatever their language
        return ""

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        return [self._entail(premise, hypothesis) for premise, hypothesis in pairs]

    def _entail(self, premise: str, hypothesis: str) -> Entailment:
        wanted = _words(hypothesis)
        # Whole sentences only: "The dam is safe" is a part of "Nobody believes the dam is safe", not its meaning.
        sentences = [span.of(premise) for span in sentence_spans(premise)]
        words = [_words(sentence) for sentence in sentences]
        for first, sentence in enumerate(sentences):
            unnumbered = _words(sentence[len(item_sign(sentence)) :])  # whoever quotes a list item leaves its sign out
            if wanted and any(_begins(start, words[first + 1 :], wanted) for start in (words[first], unnumbered)):
                return Entailment(1.0, 0.0, 0.0)
        return _SILENT


class WordForWord:
    """Decides for another judge the pairs of which it declines to read a text; of the others it says nothing."""

    threshold = 1.0

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._verbatim = Verbatim()

    def declines(self, text: str) -> str:  # noqa: ARG002 - as Verbatim
        return ""

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        unread = {text for text in {text for pair in pairs for text in pair} if self._judge.declines(text)}
        mine = [pair for pair in dict.fromkeys(pairs) if unread.intersection(pair)]
        found = dict(zip(mine, await self._verbatim.entail(mine), strict=True))
        return [found.get(pair, _SILENT) for pair in pairs]


def _begins(start: list[str], following: list[list[str]], wanted: list[str]) -> bool:
    """Whether `start` and as many whole sentences after it as needed are exactly what is wanted."""
    run = list(start)
    for sentence in following:
        if len(run) >= len(wanted):
            break
        run += sentence
    return run == wanted


def _words(text: str) -> list[str]:
    # A source's own footnote marks are not its words: whoever quotes it leaves them out.
    return strip_marks(text).split()
