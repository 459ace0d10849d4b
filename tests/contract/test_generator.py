"""What every Generator promises: the fake, a server, and a model in this process."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from unit.model_server import Visit, event, pieces, say, serving
from veridical.errors import ModelUnavailable
from veridical.models.fake import FakeGenerator
from veridical.models.llama import Llama
from veridical.models.llama_runtime import LlamaOptions
from veridical.models.openai import OpenAi, OpenAiOptions
from veridical.models.pull import installed
from veridical.ports import Generator
from veridical.types import Chunk, Message, Prompt, Sampling

STORY = Prompt("story@1", (Message("system", "You tell stories."), Message("user", "Tell me about a bridge.")))
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"supported": {"type": "boolean"}},
    "required": ["supported"],
    "additionalProperties": False,
}
JUDGE = Prompt("judge@1", (Message("user", "Is the sky green?"),), SCHEMA)
SCRIPT = {"bridge": "Once there was a bridge over a river and it was old.", "sky": '{"supported": false}'}


@dataclass(frozen=True)
class Subject:
    working: Callable[[], Generator]
    broken: Callable[[], Generator]


def _speak(visit: Visit) -> None:
    asked = visit.body["messages"][-1]["content"]
    words = next(reply for key, reply in SCRIPT.items() if key in asked).split(" ")
    words = [word if n == 0 else f" {word}" for n, word in enumerate(words)]
    limit = int(visit.body["max_tokens"])
    if len(words) <= limit:
        say(*words)(visit)
    else:
        pieces(*(event(word) for word in words[:limit]), event(finish="length"))(visit)


def _llama() -> Subject:
    weights = installed().get("smollm2")
    if weights is None or not any(importlib.util.find_spec(name) for name in ("xllamacpp", "llama_cpp")):
        pytest.skip("needs `veridical model pull smollm2` and the `local` extra")
    return Subject(
        lambda: Llama(LlamaOptions(weights, context=512)),
        lambda: Llama(LlamaOptions(Path("nowhere.gguf"))),
    )


@pytest.fixture(
    params=["fake", "openai", pytest.param("llama", marks=[pytest.mark.needs_llm, pytest.mark.slow])],
)
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    if request.param == "fake":
        yield Subject(lambda: FakeGenerator(SCRIPT), lambda: FakeGenerator({}))
    elif request.param == "llama":
        yield _llama()
    else:
        with serving(_speak) as server:
            yield Subject(
                lambda: OpenAi(OpenAiOptions("tiny", server.url)),
                lambda: OpenAi(OpenAiOptions("tiny", "http://127.0.0.1:9/v1", retries=0)),
            )


async def read(generator: Generator, prompt: Prompt, sampling: Sampling = Sampling(max_tokens=12)) -> list[Chunk]:
    return [chunk async for chunk in generator.stream(prompt, sampling)]


async def close(generator: Generator) -> None:
    if hasattr(generator, "aclose"):
        await generator.aclose()


def collect(make: Callable[[], Generator], *prompts: Prompt) -> list[list[Chunk]]:
    """Streams all prompts at once through one generator."""

    async def run() -> list[list[Chunk]]:
        generator = make()
        try:
            return list(await asyncio.gather(*(read(generator, prompt) for prompt in prompts)))
        finally:
            await close(generator)

    return asyncio.run(run())


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


def test_it_is_a_generator(subject: Subject) -> None:
    assert isinstance(subject.working(), Generator)


def test_text_comes_in_pieces_and_only_the_last_chunk_ends_it(subject: Subject) -> None:
    (chunks,) = collect(subject.working, STORY)
    assert len([chunk for chunk in chunks if chunk.text]) > 1
    assert all(chunk.finish == "" and chunk.usage is None for chunk in chunks[:-1])
    assert chunks[-1].finish in ("stop", "length")


def test_usage_counts_one_call_and_its_tokens(subject: Subject) -> None:
    (chunks,) = collect(subject.working, STORY)
    usage = chunks[-1].usage
    assert usage is not None
    assert usage.calls == 1
    assert usage.prompt_tokens > 0
    assert 0 < usage.completion_tokens <= 12


def test_at_temperature_zero_it_says_the_same_again(subject: Subject) -> None:
    first, second = collect(subject.working, STORY)[0], collect(subject.working, STORY)[0]
    assert text_of(first) == text_of(second) != ""


def test_a_schema_gives_json_of_that_shape(subject: Subject) -> None:
    (chunks,) = collect(subject.working, JUDGE)
    assert isinstance(json.loads(text_of(chunks))["supported"], bool)


def test_several_streams_at_once_do_not_mix(subject: Subject) -> None:
    story, verdict, again = collect(subject.working, STORY, JUDGE, STORY)
    assert "supported" in text_of(verdict)
    assert "supported" not in text_of(story) + text_of(again)


def test_a_stream_can_be_left_and_the_next_one_works(subject: Subject) -> None:
    async def run() -> str:
        generator = subject.working()
        try:
            stream = cast("Any", generator.stream(STORY, Sampling(max_tokens=200)))
            async with aclosing(stream) as chunks:
                async for _ in chunks:
                    break
            return text_of(await read(generator, STORY))
        finally:
            await close(generator)

    assert asyncio.run(run())


def test_cancelling_the_asker_ends_the_stream(subject: Subject) -> None:
    async def run() -> None:
        generator = subject.working()
        first = asyncio.Event()

        async def listen(chunks: AsyncIterator[Chunk]) -> None:
            async for _ in chunks:
                first.set()

        task = asyncio.create_task(listen(generator.stream(STORY, Sampling(max_tokens=400))))
        await first.wait()
        task.cancel()
        await asyncio.wait([task], timeout=5)
        assert task.done()
        await close(generator)

    asyncio.run(run())


def test_a_model_that_is_not_there_is_unavailable_and_says_what_to_do(subject: Subject) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        collect(subject.broken, STORY)
    assert caught.value.fix
