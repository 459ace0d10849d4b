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

_HELD = Entailment(1.0, 0.0, 0.0)
_SILENT = Entailment(0.0, 1.0, 0.0)


class Verbatim:
    threshold = 1.0  # it says yes or no, nothing between

    def declines(self, text: str) -> str:  # noqa: ARG002 - it compares words, whatever their language
        return ""

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        premises = {premise: _Premise(premise) for premise in {premise for premise, _ in pairs}}
        return [_HELD if premises[premise].holds(_words(claim)) else _SILENT for premise, claim in pairs]


class _Premise:
    """A text as the words of its sentences, split once for all that is asked about it."""

    def __init__(self, text: str) -> None:
        sentences = [span.of(text) for span in sentence_spans(text)]
        self._words = [_words(sentence) for sentence in sentences]
        # Whoever quotes a list item leaves its sign out.
        self._unsigned = [_words(sentence[len(item_sign(sentence)) :]) for sentence in sentences]

    def holds(self, wanted: list[str]) -> bool:
        """Whether some of its sentences, one behind the other, are exactly what is wanted.

        Whole sentences only: "The dam is safe" is a part of "Nobody believes the dam is safe", not its meaning.
        """
        starts = enumerate(zip(self._words, self._unsigned, strict=True))
        return bool(wanted) and any(self._begins(n, start, wanted) for n, two in starts for start in two)

    def _begins(self, number: int, start: list[str], wanted: list[str]) -> bool:
        """Whether `start`, which stands for sentence `number`, and as many after it as needed are what is wanted."""
        at, sentence = 0, start
        while wanted[at : at + len(sentence)] == sentence:
            at, number = at + len(sentence), number + 1
            if at == len(wanted) or number == len(self._words):
                return at == len(wanted)
            sentence = self._words[number]
        return False


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


def _words(text: str) -> list[str]:
    # A source's own footnote marks are not its words: whoever quotes it leaves them out.
    return strip_marks(text).split()
