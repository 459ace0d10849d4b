"""Wrong citation marks set right: a claim that an uncited passage carries is made to cite that passage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from veridical.text.claims import cite, find_claims
from veridical.text.marks import format_marks, mark_spans, parse_marks, strip_marks
from veridical.types import Citation, Claim, Draft, Label, Passage, Span

_STOPS, _CLOSING = ".!?…。！？", "\"'”’»)"


def repair_marks(
    text: str, claims: Sequence[Claim], passages: Sequence[Passage], language: str = "en"
) -> tuple[str, tuple[Claim, ...]]:
    """The text with the marks of supported but wrongly cited claims replaced, and the claims as they stand in it.

    All marks of such a claim give way to the best passage of its `repair`; a claim without marks gets one before its
    final punctuation. `claims` are in order and in `text`, as `find_claims` gave them. An edit after which the text
    would not be read as the same claims with the right marks is left out, and its claim stays as it was.
    """
    answer = _Answer(text, tuple(claims), tuple(passages), language)
    edits = {number: sentences for number in range(len(claims)) if (sentences := answer.rewritings(number))}
    return answer.apply(_keep(answer, sorted(edits), edits, {})) if edits else (text, tuple(claims))


def _keep(
    answer: _Answer, numbers: Sequence[int], edits: Mapping[int, Sequence[str]], kept: dict[int, str]
) -> dict[int, str]:
    """`kept` and those of the edits that the text survives; halving finds the few that it does not."""
    together = kept | {number: edits[number][0] for number in numbers}
    if answer.survives(together):
        return together
    if len(numbers) == 1:
        (number,) = numbers
        return next((t for s in edits[number][1:] if answer.survives(t := kept | {number: s})), kept)
    half = len(numbers) // 2
    return _keep(answer, numbers[half:], edits, _keep(answer, numbers[:half], edits, kept))


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    claims: tuple[Claim, ...]
    passages: tuple[Passage, ...]
    language: str

    def rewritings(self, number: int) -> list[str]:
        """The claim's sentence with the right mark, in the ways it can be written, best first; none if it is right."""
        claim = self.claims[number]
        best = self._repair(claim)
        near = self.claims[max(0, number - 1) : number + 2]
        if best is None or any(a.span.end > b.span.start for a, b in pairwise(near)):
            return []  # claims that share their text (the facts of one sentence) share its marks too
        ways = dict.fromkeys(_rewrite(claim.span.of(self.text), format_marks([best.mark])))
        return [way for way in ways if strip_marks(way) == claim.text and parse_marks(way) == (best.mark,)]

    def apply(self, sentences: Mapping[int, str]) -> tuple[str, tuple[Claim, ...]]:
        """The text with these sentences in place of those of the claims so numbered."""
        pieces, moved, copied, shift = [], [], 0, 0
        for number, claim in enumerate(self.claims):
            new = sentences.get(number)
            if new is None:
                moved.append(replace(claim, span=claim.span.shift(shift)))
                continue
            pieces += [self.text[copied : claim.span.start], new]
            start, copied = claim.span.start + shift, claim.span.end
            shift += len(new) - (claim.span.end - claim.span.start)
            moved.append(self._repaired(replace(claim, span=Span(start, start + len(new)))))
        return "".join((*pieces, self.text[copied:])), tuple(moved)

    def survives(self, sentences: Mapping[int, str]) -> bool:
        """Whether every claim that can be read in the text can still be read, at its place and with its marks."""
        before = self._read(self.text)
        text, moved = self.apply(sentences)
        after = self._read(text)
        return all(
            _as_read(new) in after for old, new in zip(self.claims, moved, strict=True) if _as_read(old) in before
        )

    def _read(self, text: str) -> set[tuple[Span, str, tuple[Citation, ...]]]:
        return {_as_read(claim) for claim in find_claims(Draft(text, self.passages), self.language)}

    def _repair(self, claim: Claim) -> Citation | None:
        verdict = claim.verdict
        if verdict.label is not Label.SUPPORTED or verdict.cited or not verdict.repair:
            return None
        mark = verdict.repair[0].mark
        known = 1 <= mark <= len(self.passages) and self.passages[mark - 1].id == verdict.repair[0].passage_id
        return cite(mark, self.passages[mark - 1]) if known else None

    def _repaired(self, claim: Claim) -> Claim:
        best = self._repair(claim)
        assert best is not None
        old = format_marks(citation.mark for citation in claim.citations)
        reason = f"citation repaired: {old} → [{best.mark}]" if old else f"citation added: [{best.mark}]"
        return replace(claim, citations=(best,), verdict=replace(claim.verdict, cited=True, repair=(), reason=reason))


def _rewrite(sentence: str, mark: str) -> Iterator[str]:
    """The sentence with `mark` for its last marks and without the others; or, where it has none, near its end."""
    spans = mark_spans(sentence)
    if spans:
        last = spans.pop()
        start = last.start
        while spans and not sentence[spans[-1].end : start].strip():  # "[2][3]" is one group of marks
            start = spans.pop().start
        head = sentence[:start]
        for span in reversed(spans):
            head = head[: span.start].rstrip(" \t") + head[span.end :]
        yield head + mark + sentence[last.end :]
        return
    at = len(sentence.rstrip(_CLOSING).rstrip(_STOPS))
    yield f"{sentence[:at]} {mark}{sentence[at:]}"
    yield f"{sentence[:at]}{mark}{sentence[at:]}"  # scripts without spaces
    yield f"{sentence} {mark}"
    yield f"{sentence}{mark}"


def _as_read(claim: Claim) -> tuple[Span, str, tuple[Citation, ...]]:
    return claim.span, claim.text, claim.citations
