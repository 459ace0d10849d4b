"""A GGUF language model inside this process, through whichever llama.cpp binding is installed."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from veridical.errors import InputRefused, ModelUnavailable, VeridicalError
from veridical.models.llama_runtime import ContextTooSmall, Emit, LlamaOptions, Runtime
from veridical.models.wire import Dialect, Reading
from veridical.types import Chunk, Prompt, Sampling


class _End:
    """The worker's last word: what went wrong, or nothing."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error


class Llama:
    """A Generator over a local file, which is loaded at first use. All native code runs in worker threads."""

    def __init__(self, options: LlamaOptions, load: Callable[[LlamaOptions], Runtime] | None = None) -> None:
        self.options = options
        self._load = load or load_runtime
        self._runtime: Runtime | None = None
        self._loading = threading.Lock()
        self._workers = ThreadPoolExecutor(options.parallel, thread_name_prefix="veridical-llama")

    def __repr__(self) -> str:
        return f"Llama({self.options.path.name!r})"

    async def stream(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Chunk]:
        """Text as it is generated, then one chunk with the finish reason and the usage.

        Raises ModelUnavailable when the file cannot be loaded, InputRefused when the prompt exceeds the context.
        Leaving the stream stops the generation at the next token, or the next batch of the prompt.
        """
        started = time.monotonic()
        reading, left = Reading(repr(self), prompt), threading.Event()
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[object] = asyncio.Queue()

        def emit(event: object) -> bool:
            if not left.is_set():
                try:
                    loop.call_soon_threadsafe(events.put_nowait, event)
                except RuntimeError:  # the loop was closed under us: nobody is listening
                    left.set()
            return left.is_set()

        job = self._workers.submit(self._work, prompt, sampling, emit)
        try:
            while not isinstance(event := await events.get(), _End):
                chunk = reading.take(event)
                if chunk is not None:
                    yield chunk
        finally:
            left.set()
            job.cancel()  # it may still be waiting for a worker
        if event.error is not None:
            raise self._explained(event.error)
        yield reading.last(time.monotonic() - started)

    async def aclose(self) -> None:
        """Unloads the model once running generations have ended."""
        try:
            await asyncio.to_thread(self._workers.shutdown)
        except RuntimeError:  # the interpreter is ending, and no thread can be started to wait in
            self._workers.shutdown()
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            runtime.close()

    def _work(self, prompt: Prompt, sampling: Sampling, emit: Emit) -> None:
        request = Dialect().body(self.options.path.stem, replace(prompt, schema=None), sampling)
        request["top_p"] = sampling.top_p  # the bindings' own default is not neutral
        schema = dict(prompt.schema) if prompt.schema is not None else None
        try:
            with self._loading:
                if self._runtime is None:
                    check_file(self.options.path)
                    self._runtime = self._load(self.options)
            self._runtime.chat(request, schema, emit)
        except Exception as error:  # noqa: BLE001 — crosses to the asker's thread, which raises it
            emit(_End(error))
        else:
            emit(_End())

    def _explained(self, error: Exception) -> Exception:
        if isinstance(error, ContextTooSmall):
            return InputRefused(
                f"the prompt has {error.prompt_tokens} tokens, but the context of {self!r} holds {error.context}",
                fix="ask with fewer or shorter passages, or raise `context` in the model's settings",
            )
        if isinstance(error, VeridicalError):
            return error
        return ModelUnavailable(f"{self!r} failed: {error}", fix="try another GGUF file, or report this with its name")


def check_file(path: Path) -> None:
    """Raises ModelUnavailable when there is no GGUF file at `path`."""
    pull = "get one with `veridical model pull smollm2`, or give the path of a .gguf file"
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except FileNotFoundError as error:
        raise ModelUnavailable(f"there is no model file {path}", fix=pull) from error
    except OSError as error:
        raise ModelUnavailable(f"the model file {path} cannot be read: {error.strerror}", fix=pull) from error
    if magic != b"GGUF":
        raise ModelUnavailable(f"{path} is not a GGUF file", fix=pull)


def load_runtime(options: LlamaOptions) -> Runtime:
    """llama-cpp-python where it is installed, since it was compiled for this machine; otherwise xllamacpp."""
    if importlib.util.find_spec("llama_cpp") is not None:
        from veridical.models.llama_native import NativeRuntime

        return NativeRuntime(options, _import_native("llama_cpp"))
    if importlib.util.find_spec("xllamacpp") is not None:
        from veridical.models.llama_xllamacpp import XllamacppRuntime

        return XllamacppRuntime(options, _import_native("xllamacpp"))
    raise ModelUnavailable(
        "running a GGUF model in this process needs a llama.cpp binding, and none is installed",
        fix="pip install 'veridical[local]'",
    )


def _import_native(name: str) -> ModuleType:
    """Imports a binding so that its OpenMP threads sleep while they wait for each other.

    By default they spin, which on two busy cores cost five sixths of the speed (3 instead of 20 tokens a second).
    OpenMP reads the variable once, when it is loaded; one that the user has set stays.
    """
    before = os.environ.get("OMP_WAIT_POLICY")
    os.environ["OMP_WAIT_POLICY"] = before or "PASSIVE"
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ModelUnavailable(
            f"the llama.cpp binding {name} is installed but does not load: {error}",
            fix="if it misses libgomp, install that from the system's packages (Debian: apt install libgomp1); "
            f"otherwise reinstall it: pip install --force-reinstall {name.replace('_cpp', '-cpp-python')}",
        ) from error
    finally:
        if before is None:
            del os.environ["OMP_WAIT_POLICY"]
