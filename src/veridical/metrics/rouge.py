"""ROUGE-L: how much of a reference is said in its order, by the longest common subsequence of tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from veridical.metrics.normalise import drop_marks
from veridical.metrics.stem import porter_stem
from veridical.text.sentences import split_sentences

_TOKEN = re.compile(r"[a-z0-9]+")
_SHORT = 3  # words up to this length are not stemmed


def rouge_tokens(text: str, stem: bool = True) -> list[str]:
    """Runs of a–z and 0–9 in the lower-cased text; those longer than three letters reduced to their stem."""
    words = _TOKEN.findall(text.lower())
    return [porter_stem(word) if len(word) > _SHORT else word for word in words] if stem else words


def rouge_l(answer: str, references: Iterable[str], stem: bool = True) -> float:
    """max over references of F = 2PR / (P + R), P = LCS / |answer|, R = LCS / |reference|, in tokens."""
    said = rouge_tokens(drop_marks(answer), stem)
    wanted = (rouge_tokens(reference, stem) for reference in references)
    return max((_f(len(_common(one, said)), len(one), len(said)) for one in wanted), default=0.0)


def rouge_l_sum(
    answer: str, references: Iterable[str], stem: bool = True, split: Callable[[str], Sequence[str]] = split_sentences
) -> float:
    """max over references of the summary-level F (rougeLsum), as ALCE reports it.

    For each sentence of the reference the hits are the union, over the answer's sentences, of their longest common
    subsequences; a token counts at most as often as either text has it. P and R are hits over all tokens.
    Sentences are split after lower-casing, and a line break ends one too, as in the public script.
    """

    def tokens(text: str) -> list[list[str]]:
        lines = "\n".join(split(text.lower())).split("\n")
        return [rouge_tokens(line, stem) for line in lines]

    said = tokens(drop_marks(answer))
    return max((_summary_f(tokens(reference), said) for reference in references), default=0.0)


def _summary_f(reference: Sequence[Sequence[str]], answer: Sequence[Sequence[str]]) -> float:
    left = Counter(token for sentence in reference for token in sentence)
    left &= Counter(token for sentence in answer for token in sentence)
    hits = 0
    for sentence in reference:
        union = sorted({place for other in answer for place in _common(sentence, other)})
        for token in (sentence[place] for place in union):
            if left[token]:
                left[token] -= 1
                hits += 1
    return _f(hits, sum(map(len, reference)), sum(map(len, answer)))


def _common(reference: Sequence[str], answer: Sequence[str]) -> list[int]:
    """Places in `reference` of one longest common subsequence, last first; of equals the earliest in `answer`.

    Which of several is taken decides the union of `rouge_l_sum`, so the choice is that of the public scorer.
    """
    return list(_trace(reference, answer, _lengths(reference, answer)))


def _lengths(reference: Sequence[str], answer: Sequence[str]) -> list[list[int]]:
    table = [[0] * (len(answer) + 1)]
    for token in reference:
        above, row = table[-1], [0]
        for column, other in enumerate(answer):
            row.append(above[column] + 1 if token == other else max(above[column + 1], row[column]))
        table.append(row)
    return table


def _trace(reference: Sequence[str], answer: Sequence[str], table: Sequence[Sequence[int]]) -> Iterator[int]:
    row, column = len(reference), len(answer)
    while row and column:
        if reference[row - 1] == answer[column - 1]:
            row, column = row - 1, column - 1
            yield row
        elif table[row][column - 1] > table[row - 1][column]:
            column -= 1
        else:
            row -= 1


def _f(hits: int, reference: int, answer: int) -> float:
    return 2 * hits / (reference + answer) if hits else 0.0
