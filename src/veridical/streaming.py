"""The sentences of a draft checked while it is still being written.

async with watch(trace, passages, decide) as read:
    async for piece in model:
        read(piece)

Every sentence is announced as soon as it is complete (`events.Pending`) and once more with its verdict
(`events.Decided`). Checking runs beside the writing, takes at once whatever waits, and keeps the order of the
text. When the block ends, every sentence is decided; when it fails or is cancelled, the checking stops with it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from veridical.events import Decided, Pending
from veridical.text.claims import find_claims
from veridical.text.sentences import sentence_spans
from veridical.types import Claim, Draft, Passage

if TYPE_CHECKING:
    from veridical.events import Trace

Decide: TypeAlias = Callable[[Sequence[Claim]], Awaitable[Sequence[Claim]]]  # the same claims with their verdicts

_I_DO_NOT_KNOW = ("i don't know", "i do not know", "i don’t know")
_WORD = re.compile(r"\w")
# Whatever may end a sentence, or close what kept one open: all but letters, figures, blanks and signs within one.
_END = re.compile(r"""[^\w \t,'’“‘–$€£%&/+*=<>@([{-]""")
_BEHIND = 32  # characters behind an end in which the next sentence shows that it is one
_LONG = 2_000  # characters without a sentence from which one is looked for only now and then
_OPEN_MARK = re.compile(r"\s*(?:\[[^\]]*\]\s*)*\[[^\]]*$")


def does_not_know(text: str) -> bool:
    """Whether a model's reply begins by saying that it does not know."""
    longest = max(map(len, _I_DO_NOT_KNOW))
    return text.lstrip()[:longest].lower().startswith(_I_DO_NOT_KNOW)


@asynccontextmanager
async def watch(
    trace: Trace, passages: Sequence[Passage], decide: Decide, language: str = "en"
) -> AsyncIterator[Callable[[str], None]]:
    """Yields the function that takes the text piece by piece."""
    watcher = _Watcher(trace, passages, decide, language)
    deciding = asyncio.create_task(watcher.run())

    def read(piece: str) -> None:
        if deciding.done():
            deciding.result()  # a sink that raised stops the work it watches
        watcher.read(piece)

    try:
        yield read
        watcher.end()
        await deciding
    finally:
        deciding.cancel()
        await asyncio.gather(deciding, return_exceptions=True)


class Growing:
    """A text that arrives in pieces, and how much of it has been taken as sentences."""

    def __init__(self, language: str = "en") -> None:
        self.text = ""
        self.language = language
        self._taken = 0
        self._looked = 0  # how long the rest was when it last held no whole sentence

    def add(self, piece: str) -> list[tuple[int, str]]:
        """The sentences that this piece completes, each with its offset.

        A sentence is complete when the next one has begun: until then a mark may follow its full stop.
        """
        self.text += piece
        if not self._may_end(piece):
            return []
        found = self._sentences()
        if len(found) < 2 or not _WORD.search(found[-1][1]) or _OPEN_MARK.match(found[-1][1]):
            self._looked = len(self.text) - self._taken
            return []
        return self._take(found[:-1])

    def rest(self) -> list[tuple[int, str]]:
        return self._take(self._sentences())

    def _may_end(self, piece: str) -> bool:
        """Whether it is worth the time to look for sentences: a text without an end would be read again for each word.

        Not to look is never wrong: what is found later is what one larger piece would have shown.
        """
        rest = len(self.text) - self._taken
        if rest > _LONG and rest < self._looked * 9 // 8:
            return False
        return _END.search(self.text, max(self._taken, len(self.text) - len(piece) - _BEHIND)) is not None

    def _sentences(self) -> list[tuple[int, str]]:
        tail = self.text[self._taken :]
        return [(self._taken + span.start, span.of(tail)) for span in sentence_spans(tail, self.language)]

    def _take(self, found: list[tuple[int, str]]) -> list[tuple[int, str]]:
        if found:
            offset, sentence = found[-1]
            self._taken, self._looked = offset + len(sentence), 0
        return found


class _Watcher:
    def __init__(self, trace: Trace, passages: Sequence[Passage], decide: Decide, language: str) -> None:
        self._trace = trace
        self._span = trace.enclosing
        self._passages = tuple(passages)
        self._decide = decide
        self._growing = Growing(language)
        self._pending = 0
        self._decided = 0
        self._waiting: asyncio.Queue[Claim | None] = asyncio.Queue()  # None: there will be no more

    def read(self, piece: str) -> None:
        self._announce(self._growing.add(piece))

    def end(self) -> None:
        self._announce(self._growing.rest())
        self._waiting.put_nowait(None)

    def _announce(self, sentences: Sequence[tuple[int, str]]) -> None:
        if not sentences or does_not_know(self._growing.text):
            return
        for offset, sentence in sentences:
            for claim in find_claims(Draft(sentence, self._passages), self._growing.language):
                self._pending += 1
                self._trace.emit(Pending(self._span, self._pending, claim.span.of(sentence)))
                self._waiting.put_nowait(replace(claim, span=claim.span.shift(offset)))

    async def run(self) -> None:
        more = True
        while more:
            batch = [await self._waiting.get()]
            while not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            more = None not in batch
            for claim in await self._decide([claim for claim in batch if claim is not None]):
                self._decided += 1
                self._trace.emit(Decided(self._span, self._decided, claim))
