"""The strictest judge there is: a claim is entailed when the premise holds it word for word, as whole sentences.

It never errs on the side of support, and it cannot recognise a paraphrase: those it calls neutral.
"""

from __future__ import annotations

from collections.abc import Sequence

from veridical.text.marks import strip_marks
from veridical.text.sentences import sentence_spans
from veridical.types import Entailment


class Verbatim:
    threshold = 1.0  # it says yes or no, nothing between

    def declines(self, text: str) -> str:  # noqa: ARG002 - it compares words, whatever their language
        return ""

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        return [self._entail(premise, hypothesis) for premise, hypothesis in pairs]

    def _entail(self, premise: str, hypothesis: str) -> Entailment:
        wanted = _words(hypothesis)
        # Whole sentences only: "The dam is safe" is a part of "Nobody believes the dam is safe", not its meaning.
        sentences = [_words(span.of(premise)) for span in sentence_spans(premise)]
        for first in range(len(sentences)):
            run: list[str] = []
            for sentence in sentences[first:]:
                run += sentence
                if len(run) >= len(wanted):
                    break
            if wanted and run == wanted:
                return Entailment(1.0, 0.0, 0.0)
        return Entailment(0.0, 1.0, 0.0)


def _words(text: str) -> list[str]:
    # A source's own footnote marks are not its words: whoever quotes it leaves them out.
    return strip_marks(text).split()
