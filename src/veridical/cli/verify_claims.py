"""Each claim of a text checked against what it cites and what resembles it, numbered as the text numbers it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from veridical.cli.verify_sources import address, search_within
from veridical.report import Numbered
from veridical.text.claims import cite
from veridical.text.marks import format_marks, parse_marks
from veridical.types import Answer, Citation, Claim, Conflict, Evidence, Filter, Label, Passage, Verdict

if TYPE_CHECKING:
    from veridical.blocking import Engine

_SLICE = 64  # claims searched for at once
_LONGEST_QUERY = 2_000  # characters; the embedder reads less than that of a sentence
_MARKS = re.compile(r"(?:\[\d+\])+")
_WORST_FIRST = (Label.CONTRADICTED, Label.UNVERIFIED, Label.SUPPORTED)
_NOTHING_FOUND = Verdict(reason="nothing in the sources resembles it")


@dataclass(slots=True)
class Checking:
    """Checks claims and gathers what they rest on. `reach` says which document a mark of the text means."""

    engine: Engine
    reach: Mapping[int, str] = field(default_factory=dict)  # number → address
    where: Filter | None = None
    k: int = 5
    numbers: dict[str, int] = field(default_factory=dict)  # address → number
    sources: dict[int, Numbered] = field(default_factory=dict)
    passages: dict[str, Passage] = field(default_factory=dict)
    conflicts: dict[Conflict, None] = field(default_factory=dict)  # each once, in order

    def __post_init__(self) -> None:
        for number, place in self.reach.items():
            self.numbers.setdefault(place, number)

    def check(self, text: str, found: Sequence[Claim], done: Callable[[int], None]) -> tuple[Claim, ...]:
        """The claims found in `text`, in their order, with their verdicts."""
        checked: list[Claim] = []
        for start in range(0, len(found), _SLICE):
            claims = found[start : start + _SLICE]
            marks = [[n for n in parse_marks(claim.span.of(text)) if n in self.reach] for claim in claims]
            for claim, cited, (own, other) in zip(claims, marks, self._find(claims, marks), strict=True):
                checked.append(self._check(claim, cited, own, other))
                done(len(checked))
        return tuple(checked)

    def _find(
        self, claims: Sequence[Claim], marks: Sequence[Sequence[int]]
    ) -> list[tuple[list[Passage], list[Passage]]]:
        """For each claim the passages of the documents it cites, and other passages that resemble it."""
        queries = [claim.text[:_LONGEST_QUERY] for claim in claims]
        near = self.engine.search_many(queries, self.k, self.where)
        own: list[dict[str, Passage]] = [{} for _ in claims]
        for number in dict.fromkeys(n for cited in marks for n in cited):
            citing = [row for row, cited in enumerate(marks) if number in cited]
            within = search_within(self.engine, [queries[row] for row in citing], self.reach[number], self.k)
            for row, hits in zip(citing, within, strict=True):
                own[row] |= {passage.id: passage for passage in hits}
        for row, cited in enumerate(marks):
            places = {self.reach[number] for number in cited}
            own[row] |= {passage.id: passage for passage in near[row] if address(passage.uri) in places}
        return [
            (list(mine.values()), [passage for passage in hits if passage.id not in mine])
            for mine, hits in zip(own, near, strict=True)
        ]

    def _check(self, claim: Claim, cited: Sequence[int], own: Sequence[Passage], other: Sequence[Passage]) -> Claim:
        read = [*own, *other]
        citations = [self._own_citation(number, own) for number in cited]
        claim = replace(claim, citations=tuple(citation for citation in citations if citation))
        if not read:
            return replace(claim, verdict=_NOTHING_FOUND)
        marks = format_marks(range(1, len(own) + 1))
        answer = self.engine.verify(f"{claim.text} {marks}".strip(), read)
        return replace(claim, verdict=self._take(answer, read))

    def _own_citation(self, number: int, own: Sequence[Passage]) -> Citation | None:
        best = next((passage for passage in own if address(passage.uri) == self.reach[number]), None)
        if best is None:
            return None
        self._number(best)
        return cite(number, best)

    def _take(self, answer: Answer, read: Sequence[Passage]) -> Verdict:
        """The verdict with its citations numbered as the text numbers them; the worst, if there are several."""
        verdicts = sorted(
            (claim.verdict for claim in answer.claims),
            key=lambda verdict: (_WORST_FIRST.index(verdict.label), verdict.score or 0.0),
        )
        if not verdicts:
            return Verdict(reason="it could not be read as a sentence")
        self.conflicts |= {
            Conflict(conflict.claim, self._place(conflict.one, read), self._place(conflict.other, read)): None
            for conflict in answer.conflicts
        }
        verdict = verdicts[0]
        repair = {citation.mark: citation for citation in (self._cite(c, read) for c in verdict.repair)}
        return replace(
            verdict,
            evidence=self._place(verdict.evidence, read) if verdict.evidence else None,
            repair=tuple(repair.values()),
            reason=_MARKS.sub(lambda run: self._renumber(run.group(), read), verdict.reason),
        )

    def _renumber(self, marks: str, read: Sequence[Passage]) -> str:
        numbers = [self._number(read[n - 1]) for n in parse_marks(marks) if 1 <= n <= len(read)]
        return format_marks(dict.fromkeys(numbers))

    def _place(self, evidence: Evidence, read: Sequence[Passage]) -> Evidence:
        return replace(evidence, source=self._cite(evidence.source, read))

    def _cite(self, citation: Citation, read: Sequence[Passage]) -> Citation:
        return replace(citation, mark=self._number(read[citation.mark - 1]))

    def _number(self, passage: Passage) -> int:
        """The number of the passage's document: the text's own, or the next that is free."""
        place = address(passage.uri)
        if place not in self.numbers:
            self.numbers[place] = max([0, *self.reach, *self.numbers.values()]) + 1
        number = self.numbers[place]
        self.passages[passage.id] = passage
        self.sources.setdefault(
            number, Numbered(number, passage.document_id, passage.title, place, number in self.reach)
        )
        return number
