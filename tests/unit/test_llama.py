"""The embedded model's bridge between threads and the event loop, over a stand-in for the native code."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from veridical.errors import ConfigError, InputRefused, ModelUnavailable
from veridical.models.llama import Llama, load_runtime
from veridical.models.llama_native import NativeRuntime
from veridical.models.llama_runtime import ContextTooSmall, Emit, LlamaOptions
from veridical.types import Chunk, Json, Message, Prompt, Sampling

HELLO = Prompt("hello@1", (Message("user", "Hello?"),))


class Scripted:
    """A runtime that counts upwards until told to stop."""

    def __init__(self, words: int = 3, pause_s: float = 0.0) -> None:
        self.words, self.pause_s = words, pause_s
        self.spoken = 0
        self.requests: list[tuple[dict[str, Json], Json]] = []
        self.closed = False
        self.finished = threading.Event()

    def chat(self, request: dict[str, Json], schema: Json, emit: Emit) -> None:
        self.requests.append((request, schema))
        for number in range(self.words):
            time.sleep(self.pause_s)
            if emit({"choices": [{"delta": {"content": f"{number} "}, "finish_reason": None}]}):
                break
            self.spoken += 1
        emit({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        self.finished.set()

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    (tmp_path / "m.gguf").write_bytes(b"GGUF\3\0\0\0")
    return tmp_path / "m.gguf"


def run(model: Llama, prompt: Prompt = HELLO, sampling: Sampling = Sampling()) -> list[Chunk]:
    async def collect() -> list[Chunk]:
        try:
            return [chunk async for chunk in model.stream(prompt, sampling)]
        finally:
            await model.aclose()

    return asyncio.run(collect())


def test_events_become_chunks_and_the_model_is_closed(gguf: Path) -> None:
    runtime = Scripted()
    prompt = Prompt("x@1", HELLO.messages, {"type": "object"})
    chunks = run(Llama(LlamaOptions(gguf), lambda _: runtime), prompt, Sampling(seed=4, stop=("END",)))
    assert [chunk.text for chunk in chunks] == ["0 ", "1 ", "2 ", ""]
    assert chunks[-1].finish == "stop"
    request, schema = runtime.requests[0]
    assert schema == {"type": "object"}
    assert (request["seed"], request["stop"], request["top_p"]) == (4, ["END"], 1.0)
    assert runtime.closed


def test_leaving_stops_the_generation(gguf: Path) -> None:
    runtime = Scripted(words=1000, pause_s=0.002)

    async def leave_early() -> None:
        model = Llama(LlamaOptions(gguf), lambda _: runtime)
        async for _ in model.stream(HELLO, Sampling()):
            break
        await model.aclose()

    asyncio.run(leave_early())
    assert runtime.finished.is_set()
    assert runtime.spoken < 100


def test_who_left_while_waiting_is_never_served(gguf: Path) -> None:
    runtime = Scripted(words=20, pause_s=0.005)

    async def scenario() -> None:
        model = Llama(LlamaOptions(gguf, parallel=1), lambda _: runtime)

        async def read() -> int:
            return len([chunk async for chunk in model.stream(HELLO, Sampling())])

        first, second = asyncio.create_task(read()), asyncio.create_task(read())
        await asyncio.sleep(0.02)
        second.cancel()
        assert await first == 21
        await model.aclose()

    asyncio.run(scenario())
    assert len(runtime.requests) == 1


def test_the_model_is_loaded_once_by_many(gguf: Path) -> None:
    loads: list[LlamaOptions] = []

    def load(options: LlamaOptions) -> Scripted:
        time.sleep(0.02)
        loads.append(options)
        return Scripted()

    async def many() -> None:
        model = Llama(LlamaOptions(gguf, parallel=3), load)

        async def read() -> list[Chunk]:
            return [chunk async for chunk in model.stream(HELLO, Sampling())]

        assert all(len(chunks) == 4 for chunks in await asyncio.gather(*(read() for _ in range(5))))
        await model.aclose()

    asyncio.run(many())
    assert len(loads) == 1


def test_a_prompt_beyond_the_context_states_both_numbers(gguf: Path) -> None:
    class Small(Scripted):
        def chat(self, request: dict[str, Json], schema: Json, emit: Emit) -> None:
            raise ContextTooSmall(3031, 512)

    with pytest.raises(InputRefused, match=r"3031 tokens.* 512") as caught:
        run(Llama(LlamaOptions(gguf), lambda _: Small()))
    assert "context" in caught.value.fix


def test_a_native_failure_is_unavailability(gguf: Path) -> None:
    class Broken(Scripted):
        def chat(self, request: dict[str, Json], schema: Json, emit: Emit) -> None:
            raise RuntimeError("decode failed")

    with pytest.raises(ModelUnavailable, match="decode failed"):
        run(Llama(LlamaOptions(gguf), lambda _: Broken()))


@pytest.mark.parametrize("content", [None, b"", b"<html>", b"PK\3\4"])
def test_a_file_that_is_no_gguf(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "m.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelUnavailable) as caught:
        run(Llama(LlamaOptions(path), lambda _: Scripted()))
    assert "veridical model pull" in caught.value.fix


def test_without_a_binding_the_extra_is_named(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModelUnavailable) as caught:
        load_runtime(LlamaOptions(gguf))
    assert caught.value.fix == "pip install 'veridical[local]'"


def test_a_binding_that_does_not_load_says_how_to_mend_it(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Any:
        assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
        raise ImportError("libgomp.so.1: cannot open shared object file")

    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setattr(importlib, "import_module", broken)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name == "xllamacpp" else None)
    with pytest.raises(ModelUnavailable, match=r"libgomp\.so\.1") as caught:
        load_runtime(LlamaOptions(gguf))
    assert "apt install libgomp1" in caught.value.fix
    assert "OMP_WAIT_POLICY" not in os.environ


# ── llama-cpp-python, of which only the surface is stood in for ──────────────────────────────────

VOCABULARY = ["Yes", " it", " is", "</s>"]


class FakeLlama:
    """Says "Yes it is", and calls logits processors as the binding does: before each token is chosen."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments
        self.asked: dict[str, Any] = {}
        self.n_tokens = 0
        self.closed = False

    def create_chat_completion(self, **asked: Any) -> Any:
        self.asked = asked
        if len(asked["messages"][0]["content"]) > 100:
            raise ValueError("Requested tokens (3031) exceed context window of 512")
        return self._events(asked.get("logits_processor", []))

    def _events(self, processors: Any) -> Any:
        tokens = [9, 9]
        for token in range(4):
            for processor in processors:
                processor(np.array(tokens), np.eye(4, dtype=np.float32)[token] * 5)
            tokens.append(token)
            self.n_tokens = len(tokens) - 1
            if token < 3:
                yield {"choices": [{"delta": {"content": VOCABULARY[token]}, "finish_reason": None}]}
        yield {"choices": [{"delta": {}, "finish_reason": "stop"}]}

    def detokenize(self, tokens: list[int]) -> bytes:
        return VOCABULARY[tokens[0]].encode()

    def close(self) -> None:
        self.closed = True


def grammar(schema: str, verbose: bool) -> str:
    if "zork" in schema:
        raise ValueError("unknown type")
    return f"grammar of {schema}"


BINDING = SimpleNamespace(
    Llama=FakeLlama, LogitsProcessorList=list, LlamaGrammar=SimpleNamespace(from_json_schema=grammar)
)


def native(path: Path) -> Llama:
    return Llama(LlamaOptions(path, threads=1), lambda options: NativeRuntime(options, BINDING))


def test_native_streams_with_logprobs_and_usage(gguf: Path) -> None:
    chunks = run(native(gguf), sampling=Sampling(logprobs=2))
    assert "".join(chunk.text for chunk in chunks) == "Yes it is"
    told = [logprob for chunk in chunks for logprob in chunk.logprobs]
    assert [logprob.text for logprob in told] == ["Yes", " it", " is"]
    assert all(len(logprob.alternatives) == 2 and -0.1 < logprob.logprob < 0 for logprob in told)
    assert chunks[-1].finish == "stop"
    assert chunks[-1].usage is not None
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (2, 3)


def test_native_refuses_what_does_not_fit(gguf: Path) -> None:
    with pytest.raises(InputRefused, match=r"3031 tokens.* 512"):
        run(native(gguf), Prompt("x@1", (Message("user", "long " * 100),)))


def test_native_makes_a_grammar_of_the_schema(gguf: Path) -> None:
    runtime = NativeRuntime(LlamaOptions(gguf), BINDING)
    runtime.chat({"messages": [{"content": "x"}]}, {"type": "object"}, lambda _: False)
    assert runtime._model.asked["grammar"] == 'grammar of {"type": "object"}'
    with pytest.raises(ConfigError, match="unknown type"):
        runtime.chat({"messages": [{"content": "x"}]}, {"type": "zork"}, lambda _: False)


def test_native_stops_when_nobody_listens(gguf: Path) -> None:
    runtime = NativeRuntime(LlamaOptions(gguf), BINDING)
    seen: list[object] = []
    runtime.chat({"messages": [{"content": "x"}]}, None, lambda event: seen.append(event) is None)
    assert len(seen) == 1
