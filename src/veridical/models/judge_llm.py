"""A language model as the judge: it is asked several times whether the passage proves the claim, and the shares of its
votes are the probabilities. Slow, and it reads any language that the model reads.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from veridical import prompts
from veridical.errors import ModelOutputInvalid
from veridical.models.pairs import Pair, Remembered, readable
from veridical.ports import Generator
from veridical.text.sentences import sentence_spans
from veridical.text.structured import parse_as, repair_prompt
from veridical.types import Entailment, Passage, Prompt, Sampling, Span

_DELIMITER = re.compile(r"<(?=\s*/?\s*(?:passage|claim)\b)", re.IGNORECASE)
_WORD = re.compile(r"\w{3,}")
_PREMISE_CHARACTERS = 8000  # some 2,000 tokens: with the claim and the reply they fit the smallest context in use
_CLAIM_CHARACTERS = 2000
_TEMPERATURE = 0.7  # of each vote when there are several: at 0 they would all be the same


class Vote(StrEnum):
    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNVERIFIED = "unverified"


def _fold(word: object) -> object:
    return word.strip().lower() if isinstance(word, str) else word


class Ballot(BaseModel):
    """What the prompt `judge_claim` asks for."""

    verdict: Annotated[Vote, BeforeValidator(_fold)]
    reason: str = ""


class LlmJudge:
    """Any Generator, asked `votes` times a pair, at most `concurrency` questions at once.

    An unreadable vote is sent back once for repair, then counts as neutral. Raises ModelOutputInvalid when no vote on
    any pair could be read, and what the generator raises.
    """

    def __init__(self, generator: Generator, votes: int = 3, concurrency: int = 4) -> None:
        self.generator = generator
        self.votes = votes
        self.concurrency = concurrency
        self._remembered: Remembered[Entailment] = Remembered()

    @property
    def threshold(self) -> float:
        """The share of the votes that is more than half of them."""
        return (self.votes // 2 + 1) / self.votes

    def declines(self, text: str) -> str:  # noqa: ARG002 - which languages the model reads is not known
        return ""

    async def entail(self, pairs: Sequence[Pair]) -> Sequence[Entailment]:
        """One distribution a (premise, claim), in order: the shares of the votes."""
        known, missing = self._remembered.look_up(pairs)
        # Nothing proves nothing: no model is asked about it. Nor about a claim that it could read only in part.
        silent = [pair for pair in missing if not all(map(str.strip, pair)) or len(pair[1]) > _CLAIM_CHARACTERS]
        known |= dict.fromkeys(silent, Entailment(0.0, 1.0, 0.0))
        asked = [pair for pair in missing if pair not in known]
        ballots = await self._poll(asked)
        errors = [vote for votes in ballots for vote in votes if isinstance(vote, ModelOutputInvalid)]
        if errors and len(errors) == self.votes * len(asked):
            raise errors[0]
        counted = {pair: self._count(votes) for pair, votes in zip(asked, ballots, strict=True)}
        # A pair without a readable vote is neutral now, and asked about again the next time.
        self._remembered.keep(
            {pair: counted[pair] for pair, votes in zip(asked, ballots, strict=True) if any(map(_readable, votes))}
        )
        known |= counted
        return [known[pair] for pair in pairs]

    # ── inside ───────────────────────────────────────────────────────────────────────────────────

    async def _poll(self, pairs: Sequence[Pair]) -> list[list[Vote | ModelOutputInvalid]]:
        found: list[list[Vote | ModelOutputInvalid]] = [[] for _ in pairs]
        waiting: Iterator[tuple[int, int]] = ((row, vote) for row in range(len(pairs)) for vote in range(self.votes))

        async def ask_on() -> None:
            for row, vote in waiting:
                found[row].append(await self._vote(pairs[row], vote))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.concurrency, self.votes * len(pairs))):
                    group.create_task(ask_on())
        except ExceptionGroup as failures:  # who asks for a verdict expects the model's own error
            raise failures.exceptions[0] from None
        return found

    async def _vote(self, pair: Pair, number: int) -> Vote | ModelOutputInvalid:
        # A seed each: the votes differ from each other and not from one run to the next.
        sampling = Sampling(_TEMPERATURE, 200, seed=number) if self.votes > 1 else Sampling(0.0, 200)
        try:
            return await self._ask(render(pair), sampling)
        except ModelOutputInvalid as error:
            return error

    async def _ask(self, prompt: Prompt, sampling: Sampling) -> Vote:
        reply = await self._reply(prompt, sampling)
        try:
            return read_ballot(reply)
        except ModelOutputInvalid as error:
            reply = await self._reply(repair_prompt(prompt, reply, error.message), sampling)
        return read_ballot(reply)

    async def _reply(self, prompt: Prompt, sampling: Sampling) -> str:
        stream = self.generator.stream(prompt, sampling)
        try:
            return "".join([chunk.text async for chunk in stream])
        finally:  # who leaves early frees the model at once, not when the garbage is collected
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()

    def _count(self, votes: Sequence[Vote | ModelOutputInvalid]) -> Entailment:
        shares = Counter(filter(_readable, votes))
        support, against = shares[Vote.SUPPORTED] / self.votes, shares[Vote.CONTRADICTED] / self.votes
        return Entailment(support, max(0.0, 1.0 - support - against), against)


def _readable(vote: Vote | ModelOutputInvalid) -> bool:
    return isinstance(vote, Vote)


def read_ballot(reply: str) -> Vote:
    """The one verdict in `reply`. Raises ModelOutputInvalid when there is none, or more: one may be a quotation."""
    if reply.lower().count('"verdict"') > 1:
        raise ModelOutputInvalid("the reply holds more than one verdict", fix="ask again, or use a stronger model")
    return parse_as(Ballot, reply).verdict


def render(pair: Pair) -> Prompt:
    """The question to the model; neither text can close the delimiters that it stands between."""
    premise, claim = (_DELIMITER.sub("‹", readable(text)) for text in pair)
    premise = _shorten(premise, claim)
    passage = prompts.render_passages([Passage("", "", premise, Span(0, len(premise)))])
    template = prompts.load("judge_claim")
    return template.render({"passage": passage, "claim": claim}, Ballot.model_json_schema())


def _shorten(premise: str, claim: str) -> str:
    """A premise that is too long for the model, cut down to the sentences that share most words with the claim."""
    if len(premise) <= _PREMISE_CHARACTERS:
        return premise
    wanted = set(_WORD.findall(claim.lower()))
    pieces = [piece for span in sentence_spans(premise) for piece in _cut(span)]
    shared = {piece: len(wanted.intersection(_WORD.findall(piece.of(premise).lower()))) for piece in pieces}
    kept: list[Span] = []
    room = _PREMISE_CHARACTERS
    for piece in sorted(pieces, key=lambda piece: -shared[piece]):
        if piece.end - piece.start < room:
            kept.append(piece)
            room -= piece.end - piece.start + 1
    return "\n".join(piece.of(premise) for piece in sorted(kept))


def _cut(span: Span, most: int = _PREMISE_CHARACTERS // 4) -> list[Span]:
    return [Span(start, min(start + most, span.end)) for start in range(span.start, span.end, most)]
