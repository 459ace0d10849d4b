"""Any text checked sentence by sentence: against given passages, or against what the index holds about each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from veridical.errors import IndexMissing
from veridical.events import Decided, Pending
from veridical.kit import judge_whole
from veridical.text.claims import cite, find_claims
from veridical.text.marks import keep_valid_marks
from veridical.types import Answer, Citation, Claim, Conflict, Draft, Evidence, Passage, Verdict
from veridical.verification import Verification

if TYPE_CHECKING:
    from veridical.kit import Kit

_SLICE = 64  # claims searched for and checked at once: a text of any length needs the memory of one slice


async def check_text(kit: Kit, text: str, passages: Sequence[Passage] | None = None) -> Answer:
    """The text as an answer without a question, each of its sentences with a verdict.

    With passages, mark [n] means passages[n-1]. Without, marks mean nothing and each sentence is checked against
    the kit's k best passages for it; the sources are then all that were found, numbered in that order.
    """
    claims = find_claims(Draft(text, tuple(passages or ())), kit.language)
    checked: list[Claim] = []
    conflicts: list[Conflict] = []
    sources = _Sources(passages or ())
    with kit.trace.span("verify", claims=len(claims)) as note:
        for start in range(0, len(claims), _SLICE):
            piece = claims[start : start + _SLICE]
            for number, claim in enumerate(piece, start + 1):
                kit.trace.emit(Pending(kit.trace.enclosing, number, claim.span.of(text)))
            for found in await _check(kit, piece, passages, sources):
                for number, claim in enumerate(found.claims, len(checked) + 1):
                    kit.trace.emit(Decided(kit.trace.enclosing, number, claim))
                checked += found.claims
                conflicts += found.conflicts
        note(verdicts=[claim.verdict.label.value for claim in checked])
    status, reason = judge_whole(checked)
    return Answer(
        question="",
        text=text,
        status=status,
        claims=tuple(checked),
        sources=sources.citations,
        reason=reason,
        conflicts=tuple(dict.fromkeys(conflicts)),
        invalid_marks=0 if passages is None else keep_valid_marks(text, len(passages))[1],
        usage=kit.meter.usage,
        method="verify",
        trace_id=kit.trace.id,
    )


async def _check(
    kit: Kit, claims: Sequence[Claim], passages: Sequence[Passage] | None, sources: _Sources
) -> list[Verification]:
    """What checking found, in the order of the claims."""
    if passages is not None:
        return [await kit.check(claims, passages)]
    if kit.retriever is None:
        raise IndexMissing("there is nothing to check against", fix="add documents first: veridical add FOLDER")
    hits = await kit.retriever.search([claim.text for claim in claims], kit.k, kit.where)
    # Each claim has passages of its own, so each is a call of its own; a judge still sees its passages as a batch.
    try:
        async with asyncio.TaskGroup() as group:
            works = [group.create_task(kit.check([claim], found)) for claim, found in zip(claims, hits, strict=True)]
    except ExceptionGroup as failures:  # who asked for verdicts expects the error itself
        raise failures.exceptions[0] from None
    return [_renumber(work.result(), sources.add(found)) for work, found in zip(works, hits, strict=True)]


class _Sources:
    """The passages of all slices, each once, numbered in the order in which they were first found."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._found = {(n, passage.id): cite(n, passage) for n, passage in enumerate(passages, 1)}
        self._numbers: dict[str, int] = {}

    @property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(self._found.values())

    def add(self, passages: Sequence[Passage]) -> list[int]:
        """The numbers of these passages, in their order."""
        for passage in passages:
            if passage.id not in self._numbers:
                number = self._numbers[passage.id] = len(self._numbers) + 1
                self._found[number, passage.id] = cite(number, passage)
        return [self._numbers[passage.id] for passage in passages]


def _renumber(found: Verification, numbers: Sequence[int]) -> Verification:
    """Marks that number one claim's passages as numbers among the passages of all."""

    def place(citation: Citation) -> Citation:
        return replace(citation, mark=numbers[citation.mark - 1])

    def moved(evidence: Evidence) -> Evidence:
        return replace(evidence, source=place(evidence.source))

    def verdict(old: Verdict) -> Verdict:
        return replace(
            old,
            evidence=moved(old.evidence) if old.evidence else None,
            repair=tuple(place(citation) for citation in old.repair),
        )

    return replace(
        found,
        claims=tuple(replace(claim, verdict=verdict(claim.verdict)) for claim in found.claims),
        conflicts=tuple(replace(c, one=moved(c.one), other=moved(c.other)) for c in found.conflicts),
    )
