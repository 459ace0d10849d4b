"""xllamacpp: llama.cpp's own server as an object, with slots, continuous batching and prompt-prefix reuse."""

from __future__ import annotations

import re
import secrets
import shutil
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any

from veridical.errors import ConfigError
from veridical.models.llama_runtime import ContextTooSmall, Emit, LlamaOptions, thread_count, unloadable
from veridical.types import Json

_PROMPT_BATCH = 256  # tokens between two chances to stop while a prompt is read


class XllamacppRuntime:
    def __init__(self, options: LlamaOptions, module: Any) -> None:
        self._module = module
        self._socket_folder = Path(tempfile.mkdtemp(prefix="veridical-"))
        self._sweep = weakref.finalize(self, shutil.rmtree, self._socket_folder, ignore_errors=True)
        try:
            self._server = module.Server(self._params(options))
        except RuntimeError as error:
            self.close()
            raise unloadable(options.path) from error

    def chat(self, request: dict[str, Json], schema: Json, emit: Emit) -> None:
        wanted = {**request, "return_progress": True}  # progress events let a departed asker stop a long prompt
        if schema is not None:
            wanted["grammar"] = self._grammar(schema)
        failure: list[Exception] = []

        def take(event: Any) -> bool:
            # The binding swallows what a callback raises, so this one keeps it.
            error = event.get("error")
            if isinstance(error, dict) and "n_prompt_tokens" in error:
                failure.append(ContextTooSmall(error["n_prompt_tokens"], error["n_ctx"]))
                return True
            return emit(event)

        self._server.handle_chat_completions(wanted, take)
        if failure:
            raise failure[0]

    def close(self) -> None:
        self._server = None  # its destructor ends the native threads
        self._sweep()

    def _params(self, options: LlamaOptions) -> Any:
        params = self._module.CommonParams()
        params.model.path = str(options.path)
        params.n_ctx = options.context * options.parallel
        params.n_parallel = options.parallel
        params.n_batch = _PROMPT_BATCH
        params.n_gpu_layers = options.gpu_layers
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = thread_count(options)
        params.cache_ram_mib = options.prompt_cache_mib
        params.verbosity = -1  # it logs to stderr, which belongs to the command line
        params.warmup = False  # one wasted token; the first prompt warms it as well
        # The object always listens somewhere as well. Nobody is meant to come in: a socket in a private folder
        # instead of a port, and a key that nobody knows.
        params.ui = params.endpoint_slots = False
        params.api_keys = [secrets.token_hex(16)]
        socket = str(self._socket_folder / "s.sock")
        if sys.platform != "win32" and len(socket) < 100:  # the system takes no longer names
            params.hostnames = [socket]
        return params

    def _grammar(self, schema: Json) -> str:
        """A grammar without free white space, on which small models spend half their tokens."""
        compact = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
        try:
            grammar = str(self._module.json_schema_to_grammar(schema))
            if grammar.startswith("%llguidance") and isinstance(schema, dict):
                return str(self._module.json_schema_to_grammar({"x-guidance": compact, **schema}))
        except (RuntimeError, ValueError) as error:
            raise ConfigError(f"the schema cannot be made a grammar: {error}", fix="use a simpler schema") from error
        return re.sub(r"^space ::= .*$", 'space ::= " "?', grammar, flags=re.MULTILINE)
