"""Stand-ins that pass the same contract suites as the real adapters.

They answer by WHAT was asked, never by call order, and something unscripted raises.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from veridical.errors import ModelUnavailable
from veridical.text.sentences import split_sentences
from veridical.types import Chunk, Draft, Entailment, Filter, Passage, Prompt, Sampling, Usage

if TYPE_CHECKING:
    from veridical.ports import Vectors


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class FakeGenerator:
    """Replies from a script: the reply of the first key that occurs in the prompt's name or text."""

    def __init__(self, script: Mapping[str, str]) -> None:
        self.script = dict(script)

    async def stream(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Chunk]:
        asked = "\n".join((prompt.name, *(message.content for message in prompt.messages)))
        reply = next((reply for key, reply in self.script.items() if key in asked), None)
        if reply is None:
            raise ModelUnavailable(f"the fake has no reply to {prompt.name}", fix="script a key that occurs in it")
        words = re.findall(r"\S+\s*", reply)[: sampling.max_tokens]
        for word in words:
            await asyncio.sleep(0)  # lets others run, as a real stream does
            yield Chunk(word)
        usage = Usage(1, len(_words(asked)), len(words))
        yield Chunk(finish="stop", usage=usage)


class FakeEmbedder:
    """A hashed bag of words: texts that share words are near each other."""

    def __init__(self, dimensions: int = 32) -> None:
        self.dimensions = dimensions
        self.fingerprint = f"fake-{dimensions}"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row, 0] = 1e-3  # an empty text still has a direction
            for word in _words(text):
                digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
                vectors[row, int.from_bytes(digest[:4], "big") % self.dimensions] += 1 if digest[4] % 2 else -1
        norms: Vectors = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
        return np.asarray(vectors / norms, dtype=np.float32)


class FakeRetriever:
    """Ranks passages by how many words they share with the query."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = tuple(passages)

    async def search(self, queries: Sequence[str], k: int, where: Filter | None = None) -> Sequence[Sequence[Passage]]:
        return [self._search(query, k, where) for query in queries]

    def _search(self, query: str, k: int, where: Filter | None) -> list[Passage]:
        wanted = set(_words(query))
        scored = [
            replace(passage, score=float(len(wanted & set(_words(f"{passage.title} {passage.text}")))))
            for passage in self.passages
            if where is None or where.path is None or fnmatch(passage.uri, where.path)
        ]
        hits = [passage for passage in scored if passage.score > 0]
        return sorted(hits, key=lambda passage: (-passage.score, passage.id))[:k]


class FakeWriter:
    """Quotes the first sentence of the first passage that shares a word with the question."""

    async def write(self, question: str, passages: Sequence[Passage]) -> Draft:
        wanted = {word for word in _words(question) if len(word) > 3}
        for number, passage in enumerate(passages, 1):
            if wanted & set(_words(passage.text)):
                return Draft(f"{split_sentences(passage.text)[0]} [{number}]", tuple(passages))
        return Draft("", tuple(passages), "no passage shares a word with the question")


class FakeJudge:
    """Looks each pair up by its hypothesis; what is not scripted is neutral. `declined` maps a text to the reason."""

    def __init__(
        self, script: Mapping[str, Entailment], threshold: float = 0.5, declined: Mapping[str, str] | None = None
    ) -> None:
        self.script = dict(script)
        self.threshold = threshold
        self.declined = dict(declined or {})

    def declines(self, text: str) -> str:
        return self.declined.get(text, "")

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment]:
        return [self.script.get(hypothesis, Entailment(0.0, 1.0, 0.0)) for _, hypothesis in pairs]
