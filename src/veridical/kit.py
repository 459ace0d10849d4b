"""The verbs methods speak in: search, ask, write, verify, conclude. Each verb is a span in the trace.

A method holds no tracing, no budget and no error handling of its own: it is all here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from veridical import prompts, verification
from veridical.errors import IndexMissing, ModelOutputInvalid, ModelUnavailable
from veridical.streaming import does_not_know, watch
from veridical.text.claims import cite, find_claims
from veridical.text.marks import keep_valid_marks
from veridical.types import Answer, Claim, Draft, Filter, Json, Label, Passage, Prompt, Sampling, Status
from veridical.verification import Policy, Verification, repair_marks

if TYPE_CHECKING:
    from pydantic import BaseModel

    from veridical.budget import Meter
    from veridical.events import Note, Trace
    from veridical.ports import Generator, Judge, Retriever, Writer

    Shape = TypeVar("Shape", bound=BaseModel)

_REPAIRS = 2  # rounds in which a model may mend JSON that does not fit its schema


@dataclass(frozen=True, slots=True)
class Kit:
    """Everything one question may use. Without a language model `generator` is None and `ask` refuses."""

    trace: Trace
    meter: Meter
    judge: Judge
    retriever: Retriever | None = None
    generator: Generator | None = None
    writer: Writer | None = None
    where: Filter | None = None
    k: int = 5
    language: str = "en"
    sampling: Sampling = Sampling()
    policy: Policy = Policy()
    word_for_word: Judge | None = None  # decides what `judge` declines to read

    async def search(self, query: str, k: int | None = None) -> tuple[Passage, ...]:
        """The best passages for `query`, best first."""
        k = self.k if k is None else k
        async with self._step("search", query=query, k=k) as note:
            if self.retriever is None:
                raise IndexMissing("there is nothing to search in", fix="add documents first: veridical add FOLDER")
            (found,) = await self.retriever.search([query], k, self.where)
            note(passages=[passage.id for passage in found], titles=[passage.title for passage in found])
            return tuple(found)

    async def ask(self, name: str, sampling: Sampling | None = None, **inputs: str) -> str:
        """What the language model replies to the prompt file `name`; its tokens stream as events."""
        return await self._complete(prompts.load(name).render(inputs), sampling or self.sampling)

    async def ask_json(self, name: str, shape: type[Shape], sampling: Sampling | None = None, **inputs: str) -> Shape:
        """The reply read as `shape`; an unreadable one is sent back for repair before it is an error."""
        from veridical.text.structured import parse_as, repair_prompt

        prompt = prompts.load(name).render(inputs, shape.model_json_schema())
        current = prompt
        for attempt in range(_REPAIRS + 1):
            reply = await self._complete(current, sampling or self.sampling)
            try:
                return parse_as(shape, reply)
            except ModelOutputInvalid as error:
                if attempt == _REPAIRS:
                    raise
                current = repair_prompt(prompt, reply, error.message)
        raise AssertionError("unreachable")

    async def write(self, question: str, passages: Sequence[Passage]) -> Draft:
        """A cited draft from these passages, or one that says why there is none; sentences are checked as they come."""
        async with self._step("write", passages=len(passages)) as note:
            if not passages:
                draft = Draft("", (), "nothing in the documents resembles the question")
            else:
                async with watch(self.trace, passages, self._checker(passages), self.language) as read:
                    draft = await self._draft(question, passages, read)
            note(text=draft.text, abstained=draft.abstained)
            return draft

    async def verify(self, draft: Draft) -> Verification:
        """The draft's sentences, each checked against the passages, and where those disagree."""
        async with self._step("verify") as note:
            claims = find_claims(draft, self.language)
            found = await self.check(claims, draft.passages)
            note(verdicts=[claim.verdict.label.value for claim in found.claims])
            if found.conflicts:
                note(conflicts=len(found.conflicts))
            return found

    async def check(self, claims: Sequence[Claim], passages: Sequence[Passage]) -> Verification:
        """The claims with their verdicts; mark [n] is passages[n-1].

        What the judge declines to read (another language, say) is supported where a passage holds it word for word;
        else it keeps the refusal as its reason.
        """
        found = await verification.verify(self.judge, claims, passages, self.policy, self.language)
        doubtful = [n for n, claim in enumerate(found.claims) if claim.verdict.label is Label.UNVERIFIED]
        if self.word_for_word is None or not doubtful:
            return found
        again = [found.claims[n] for n in doubtful]
        exact = await verification.verify(self.word_for_word, again, passages, self.policy, self.language)
        held = {n: c for n, c in zip(doubtful, exact.claims, strict=True) if c.verdict.label is Label.SUPPORTED}
        return replace(found, claims=tuple(held.get(n, claim) for n, claim in enumerate(found.claims)))

    async def conclude(self, question: str, draft: Draft, method: object) -> Answer:
        """The answer that a person sees: marks that name nothing removed, wrong ones repaired, a verdict a claim.

        Of a draft no sentence of which is supported, only the claims are left: their spans are those in the draft.
        """
        text, invalid = keep_valid_marks(draft.text, len(draft.passages))
        found = Verification() if draft.abstained else await self.verify(replace(draft, text=text))
        text, claims = repair_marks(text, found.claims, draft.passages, self.language)
        # Without passages there was nothing to check against, and the method is known to answer from memory.
        from_memory = bool(claims) and not draft.passages
        status, reason = (Status.ANSWERED, "") if from_memory else judge_whole(claims)
        return Answer(
            question=question,
            text="" if status is Status.ABSTAINED else text,
            status=status,
            claims=claims,
            sources=tuple(cite(n, passage) for n, passage in enumerate(draft.passages, 1)),
            reason=draft.abstained or (reason if claims else "the model wrote nothing"),
            conflicts=found.conflicts,
            invalid_marks=invalid,
            usage=self.meter.usage,
            method=repr(method),
            trace_id=self.trace.id,
        )

    def _checker(self, passages: Sequence[Passage]) -> Callable[[Sequence[Claim]], Awaitable[Sequence[Claim]]]:
        async def check(claims: Sequence[Claim]) -> Sequence[Claim]:
            return (await self.check(claims, passages)).claims

        return check

    async def _draft(self, question: str, passages: Sequence[Passage], read: Callable[[str], None]) -> Draft:
        if self.writer is not None:
            draft = await self.writer.write(question, passages)
            self.trace.token(draft.text)
            read(draft.text)
            return draft
        inputs = {"question": question, "passages": prompts.render_passages(passages)}
        reply = await self._complete(prompts.load("answer_cited").render(inputs), self.sampling, read)
        return as_draft(reply, passages)

    async def _complete(self, prompt: Prompt, sampling: Sampling, read: Callable[[str], None] | None = None) -> str:
        if self.generator is None:
            raise ModelUnavailable(
                "this needs a language model, and none is configured",
                fix="`veridical model pull smollm2`, then --llm smollm2; or a server: --llm openai:MODEL",
            )
        self.meter.begin_call()
        pieces: list[str] = []
        async with self._step("ask", prompt=prompt.name, digest=prompt.digest) as note:
            stream = self.generator.stream(prompt, sampling)
            try:
                async for chunk in stream:
                    if chunk.text:
                        pieces.append(chunk.text)
                        self.trace.token(chunk.text)
                        if read is not None:
                            read(chunk.text)
                        self.meter.check_tokens(len(pieces))
                    if chunk.usage:
                        self.meter.add_tokens(chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
            finally:  # who leaves early frees the model at once, not when the garbage is collected
                if isinstance(stream, AsyncGenerator):
                    await stream.aclose()
            note(characters=sum(map(len, pieces)))
        return "".join(pieces)

    @asynccontextmanager
    async def _step(self, name: str, **detail: Json) -> AsyncIterator[Note]:
        """A span of the trace that ends, at the latest, with the seconds of the budget."""
        with self.trace.span(name, **detail) as note:
            try:
                async with asyncio.timeout(max(self.meter.seconds_left, 0.0)) as deadline:
                    yield note
            except TimeoutError:
                if deadline.expired():
                    raise self.meter.spent("seconds") from None
                raise


def as_draft(reply: str, passages: Sequence[Passage] = ()) -> Draft:
    """What a model replied, as a draft; one that begins by saying that it does not know has abstained."""
    text = reply.strip()
    if does_not_know(text):
        return Draft("", tuple(passages), "the language model says that it does not know")
    return Draft(text, tuple(passages))


def judge_whole(claims: Sequence[Claim]) -> tuple[Status, str]:
    """What the verdicts make of the whole, and why; nothing supported is no answer, and neither is nothing said."""
    doubtful = [claim for claim in claims if claim.verdict.label is not Label.SUPPORTED]
    if not claims:
        return Status.ABSTAINED, "there is no sentence in it"
    if not doubtful:
        return Status.ANSWERED, ""
    if len(doubtful) < len(claims):
        are = "is" if len(doubtful) == 1 else "are"
        return Status.PARTIAL, f"{len(doubtful)} of {len(claims)} sentences {are} not supported by the sources"
    reasons = {claim.verdict.reason for claim in doubtful}
    why = f": {reasons.pop()}" if len(reasons) == 1 else ""
    return Status.ABSTAINED, f"no sentence of the draft could be verified{why}"
