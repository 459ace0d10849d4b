"""The composition root: `build` turns settings into an engine, and the engine answers.

async with build(Settings(index="kb")) as engine:
    await engine.add("docs/")
    print(await engine.ask("Who keeps the light?"))
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from veridical.budget import Budget, Meter
from veridical.errors import ConfigError, InputRefused
from veridical.events import Sink, Trace
from veridical.kit import Kit
from veridical.methods.condense import Turn, condense
from veridical.methods.registry import find_method
from veridical.settings import Settings
from veridical.types import Answer, Document, Filter, Passage
from veridical.verification import Policy
from veridical.verification.calibration import load as load_calibration

if TYPE_CHECKING:
    from veridical.corpus.source import ReadOptions
    from veridical.index import Index, Problem, Stats
    from veridical.index.records import Listed, Stale
    from veridical.ingest import Ingest, Progress, Report
    from veridical.methods.joints import Method
    from veridical.models.embed import MiniLm
    from veridical.models.relevance import Relevance
    from veridical.ports import Generator, Judge, Retriever, Writer

LONGEST_QUESTION = 8_000  # characters; more is a document, not a question
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def build(settings: Settings | None = None) -> Engine:
    """An engine whose parts load when they are first used."""
    return Engine(settings or Settings())


def name_judge(settings: Settings, judge: Judge) -> str:
    """Which judge this is, the shipped one down to its weights: another's scores mean something else."""
    from veridical.models.judge import LocalJudge

    if isinstance(judge, LocalJudge):
        return f"local:{judge.encoder.fingerprint}"
    return f"llm:{settings.llm}" if settings.verify.judge == "llm" else settings.verify.judge


class Engine:
    """Adds documents, searches them and answers questions. Use it as an async context manager, or close it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._index: Index | None = None
        self._opening = asyncio.Lock()
        self._changing = asyncio.Lock()

    # ── the collection ───────────────────────────────────────────────────────────────────────────

    async def add(
        self, *paths: str | Path, tags: Sequence[str] = (), on_progress: Callable[[Progress], None] | None = None
    ) -> Report:
        """Adds files, folders and URLs; what is unchanged is skipped, what changed is replaced."""
        _check_names(paths)
        async with self._ingesting(on_progress, tags, create=True) as ingest:
            return await ingest.add(paths)

    async def add_beir(self, corpus: str | Path, on_progress: Callable[[Progress], None] | None = None) -> Report:
        """Adds a BEIR corpus (`_id`, `title`, `text` a line), keeping its ids."""
        async with self._ingesting(on_progress, create=True) as ingest:
            return await ingest.add_beir(Path(corpus))

    async def sync(self, *paths: str | Path, on_progress: Callable[[Progress], None] | None = None) -> Report:
        """As `add`, and removes what vanished; without paths, below everything that was ever added."""
        _check_names(paths)
        async with self._ingesting(on_progress) as ingest:
            return await ingest.sync(paths)

    async def remove(self, *names: str) -> int:
        """Forgets sources by path, folder or URL, or documents by id; returns how many documents went."""
        _check_names(names)
        async with self._ingesting() as ingest:
            return await ingest.remove(names)

    async def rebuild(self, on_progress: Callable[[Progress], None] | None = None) -> Report:
        """Cuts and embeds again what an older chunker or embedder made, and derives the search indexes anew."""
        async with self._ingesting(on_progress) as ingest:
            return await ingest.rebuild()

    async def document(self, document_id: str) -> Document | None:
        return await asyncio.to_thread((await self.index()).document, document_id)

    async def documents(self, where: Filter | None = None, limit: int = -1, offset: int = 0) -> Sequence[Listed]:
        """What the index holds, in order of path, without the texts; a negative limit means all."""
        return await asyncio.to_thread((await self.index()).listed, where, limit, offset)

    async def stats(self) -> Stats:
        return await asyncio.to_thread((await self.index()).stats)

    async def stale(self) -> Stale:
        """What another embedder or chunker made; `rebuild` brings it up to date."""
        return await asyncio.to_thread((await self.index()).stale)

    async def check(self) -> Sequence[Problem]:
        """What is wrong with the index, each with its repair; empty when all is well."""
        return await asyncio.to_thread((await self.index()).check)

    # ── the work ─────────────────────────────────────────────────────────────────────────────────

    async def search(self, query: str, k: int | None = None, where: Filter | None = None) -> Sequence[Passage]:
        (found,) = await self.search_many([query], k, where)
        return found

    async def search_many(
        self, queries: Sequence[str], k: int | None = None, where: Filter | None = None
    ) -> Sequence[Sequence[Passage]]:
        cleaned = [_clean(query) for query in queries]
        k = self.settings.search.k if k is None else k
        if k < 1:
            raise InputRefused(f"{k} passages cannot be found", fix="ask for one or more")
        return await (await self.retriever()).search(cleaned, k, where)

    async def ask(
        self,
        question: str,
        *,
        method: str | Method | None = None,
        where: Filter | None = None,
        history: Sequence[Turn] = (),
        sinks: Sequence[Sink] = (),
    ) -> Answer:
        """Answers with the named method; `sinks` receive every event while it happens."""
        question = _clean(question)
        chosen = method if method is not None and not isinstance(method, str) else None
        chosen = chosen or find_method(str(method or self.settings.method))
        kit = self.kit(where, sinks)
        with kit.trace.span("answer", question=question, method=repr(chosen), llm=self.settings.llm) as note:
            standalone = await condense(kit, history, question)
            if standalone != question:
                note(condensed=standalone)
            answer = await chosen(kit, standalone)
            note(status=answer.status.value, trace=answer.trace_id)
        return answer

    async def verify(
        self, text: str, passages: Sequence[Passage] | None = None, *, sinks: Sequence[Sink] = ()
    ) -> Answer:
        """The text as an answer to no question: each sentence with its verdict, and what it rests on.

        With `passages`, mark [n] of the text means passages[n-1]; without, each sentence is checked against the
        passages that the index holds about it. A text of any length is checked in slices; no budget ends it.
        """
        from veridical.proofreading import check_text

        # Reranking is for questions: for a claim it gains nothing measurable, and would be most of the work.
        kit = replace(self.kit(None, sinks), retriever=_Lazily(self.index))
        # What was read from a file of another encoding may hold bytes that are no text; the offsets stay.
        return await check_text(kit, text.encode("utf-8", "replace").decode(), passages)

    def kit(self, where: Filter | None = None, sinks: Sequence[Sink] = ()) -> Kit:
        """The verbs for one question, with a fresh budget and trace."""
        from veridical.models.verbatim import WordForWord

        budget = self.settings.budget
        generator, writer = self._language_model
        return Kit(
            trace=Trace(sinks),
            meter=Meter(Budget(budget.calls, budget.tokens, budget.seconds)),
            judge=self.judge,
            retriever=_Lazily(self.retriever),
            generator=generator,
            writer=writer,
            where=where,
            k=self.settings.search.k,
            language=self.settings.language,
            policy=self.policy,
            word_for_word=WordForWord(self.judge),
        )

    # ── the parts ────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def embedder(self) -> MiniLm:
        from veridical.models.embed import MiniLm

        return MiniLm()

    @cached_property
    def judge(self) -> Judge:
        from veridical.models.judging import choose_judge

        return choose_judge(self.settings, self._language_model[0])

    @cached_property
    def relevance(self) -> Relevance:
        """The scorer of question and passage; it shares its model with the judge where that is the same."""
        from veridical.models.judge import LocalJudge
        from veridical.models.relevance import Relevance

        judge = self.judge if self.settings.verify.judge == "local" else None
        return Relevance(judge.encoder if isinstance(judge, LocalJudge) else None)

    @cached_property
    def policy(self) -> Policy:
        """Where support begins: `verify.threshold`, else what the calibration says of `verify.risk`, else the judge."""
        verify = self.settings.verify
        if verify.threshold is not None or verify.risk is None:
            return Policy(verify.threshold)
        if not verify.calibration:
            raise ConfigError(
                f"verify.risk = {verify.risk} means nothing without a calibration",
                fix="fit one with `veridical verify --calibrate`, and name its file in verify.calibration",
            )
        calibration, used = load_calibration(Path(verify.calibration)), name_judge(self.settings, self.judge)
        if calibration.judge != used:
            fitted = calibration.judge or "an unknown judge"
            raise ConfigError(
                f"the calibration {verify.calibration} was fitted with {fitted}, and the judge in use is {used}",
                fix="fit one for this judge: veridical verify --calibrate; or name the other in verify.judge",
            )
        return Policy(calibration.threshold_for(verify.risk))

    async def index(self) -> Index:
        """The open index. Raises IndexMissing when nothing was ever added."""
        return await self._opened(create=False)

    async def retriever(self) -> Retriever:
        """The open index; its first passages reranked when `search.rerank` says how many."""
        index, candidates = await self.index(), self.settings.search.rerank
        if not candidates:
            return index
        from veridical.index.rerank import Reranked
        from veridical.text.language import looks_english

        return Reranked(index, self.relevance, candidates, reads=looks_english)

    async def _opened(self, *, create: bool) -> Index:
        async with self._opening:
            if self._index is None:
                self._index = await asyncio.to_thread(self._open, create)
            return self._index

    def _open(self, create: bool) -> Index:
        from veridical.corpus.fingerprint import chunker_fingerprint
        from veridical.index import Index, SearchOptions

        search = self.settings.search
        return Index.open(
            Path(self.settings.index),
            self.embedder,
            chunker_fingerprint=chunker_fingerprint(self._read_options()),
            options=SearchOptions(mode=search.mode, candidates=search.candidates),
            create=create,
        )

    def _read_options(self) -> ReadOptions:
        from veridical.corpus.source import ReadOptions

        read = self.settings.read
        return ReadOptions(
            chunk_tokens=self.settings.chunk.tokens,
            max_file_bytes=read.max_file_mb << 20,
            language=self.settings.language,
            tokenizer=self.embedder.tokenizer_path,
            html=read.html,
            ocr=read.ocr,
            timeout_s=read.timeout_s,
        )

    @asynccontextmanager
    async def _ingesting(
        self,
        on_progress: Callable[[Progress], None] | None = None,
        tags: Sequence[str] = (),
        *,
        create: bool = False,
    ) -> AsyncIterator[Ingest]:
        """One change at a time: those of this engine wait for each other, those of other processes for the lock."""
        from veridical.ingest import Ingest

        async with self._changing:
            index, workers = await self._opened(create=create), self.settings.read.workers
            yield Ingest(index, self.embedder, self._read_options(), workers, tuple(tags), on_progress)

    @cached_property
    def _language_model(self) -> tuple[Generator | None, Writer | None]:
        from veridical.models.choose import choose_model

        return choose_model(self.settings, self.embedder)

    async def close(self) -> None:
        generator, _ = self.__dict__.get("_language_model", (None, None))
        try:
            if hasattr(generator, "aclose"):
                await generator.aclose()
        finally:
            if self._index is not None:
                self._index.close()  # at once, not in a thread: at the interpreter's end there are none left
                self._index = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


class _Lazily:
    """Opens the index when a method first searches, so that `closed` works without one."""

    def __init__(self, opened: Callable[[], Awaitable[Retriever]]) -> None:
        self._opened = opened

    async def search(self, queries: Sequence[str], k: int, where: Filter | None = None) -> Sequence[Sequence[Passage]]:
        return await (await self._opened()).search(queries, k, where)


def _check_names(names: Sequence[str | Path]) -> None:
    if any(not str(name).strip() for name in names):
        raise InputRefused(
            "an empty name was given, which would mean the folder you are in",
            fix="check the variable or quote it came from; write . for the present folder",
        )


def _clean(question: str) -> str:
    # A question may come from a terminal of another encoding, with bytes that are no text.
    readable = question.encode("utf-8", "replace").decode()
    text = _CONTROL.sub(" ", readable).strip()
    if not text:
        raise InputRefused("the question is empty", fix="ask something, for example: veridical ask 'Who …?'")
    if len(text) > LONGEST_QUESTION:
        raise InputRefused(
            f"the question has {len(text):,} characters, more than {LONGEST_QUESTION:,}",
            fix="add long texts as documents and ask a short question about them",
        )
    return text
