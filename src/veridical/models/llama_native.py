"""llama-cpp-python, where the user has compiled it: faster on many processors, one sequence at a time.

Who leaves while the prompt is being read is noticed at the first token only.
"""

from __future__ import annotations

import json
import re
import threading
from typing import Any

from veridical.errors import ConfigError
from veridical.models.llama_runtime import ContextTooSmall, Emit, LlamaOptions, thread_count, unloadable
from veridical.types import Json

_TOO_LONG = re.compile(r"\((\d+)\).*?(\d+)")


class NativeRuntime:
    def __init__(self, options: LlamaOptions, module: Any) -> None:
        self._module = module
        self._turn = threading.Lock()
        try:
            self._model = module.Llama(
                model_path=str(options.path),
                n_ctx=options.context,
                n_threads=thread_count(options),
                n_threads_batch=thread_count(options),
                n_gpu_layers=options.gpu_layers,
                verbose=False,
            )
        except (ValueError, RuntimeError, AssertionError) as error:
            raise unloadable(options.path) from error

    def chat(self, request: dict[str, Json], schema: Json, emit: Emit) -> None:
        alternatives = request.get("top_logprobs")
        watch = _LogprobWatch(self._model, alternatives) if isinstance(alternatives, int) else None
        skip = ("model", "stream_options", "logprobs", "top_logprobs")
        arguments: dict[str, Any] = {name: value for name, value in request.items() if name not in skip}
        if schema is not None:
            arguments["grammar"] = self._grammar(schema)
        if watch is not None:
            arguments["logits_processor"] = self._module.LogitsProcessorList([watch])
        with self._turn:
            try:
                self._run(arguments, watch, emit)
            except ValueError as error:
                found = _TOO_LONG.search(str(error))
                if "context window" in str(error) and found:
                    raise ContextTooSmall(int(found[1]), int(found[2])) from error
                raise

    def close(self) -> None:
        self._model.close()

    def _run(self, arguments: dict[str, Any], watch: _LogprobWatch | None, emit: Emit) -> None:
        pieces = 0
        events = self._model.create_chat_completion(**arguments)
        try:
            for event in events:
                choice = event["choices"][0]
                if watch is not None:
                    choice["logprobs"] = {"content": watch.sampled(choice["delta"].get("content") or "")}
                pieces += bool(choice["delta"].get("content"))
                if emit(event):
                    return
        finally:
            events.close()
        prompt_tokens = max(0, int(self._model.n_tokens) - pieces)  # the binding streams no usage
        emit({"choices": [], "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": pieces}})

    def _grammar(self, schema: Json) -> Any:
        try:
            return self._module.LlamaGrammar.from_json_schema(json.dumps(schema), verbose=False)
        except (ValueError, KeyError, AssertionError) as error:
            raise ConfigError(f"the schema cannot be made a grammar: {error}", fix="use a simpler schema") from error


class _LogprobWatch:
    """A logits processor that changes nothing and remembers the likeliest tokens of each step.

    The binding's own logprobs need the logits of the whole context in memory (0.8 GB for SmolLM2).
    """

    def __init__(self, model: Any, alternatives: int) -> None:
        self._model = model
        self._alternatives = alternatives
        self._steps: list[tuple[int, Any]] = []  # how many tokens stood before the step; its log-probabilities
        self._tokens: Any = ()

    def __call__(self, tokens: Any, logits: Any) -> Any:
        import numpy as np

        highest = logits.max()
        self._steps.append((len(tokens), logits - (highest + np.log(np.exp(logits - highest).sum()))))
        self._tokens = tokens
        return logits

    def sampled(self, text: str) -> list[Json]:
        """The tokens sampled since the last call, of which the newest is recognised by the text it made."""
        found: list[Json] = []
        while self._steps and text:
            before, logprobs = self._steps.pop(0)
            likeliest = [int(token) for token in logprobs.argsort()[::-1][: max(self._alternatives, 8)]]
            if before < len(self._tokens):
                token = int(self._tokens[before])
            else:
                token = next((each for each in likeliest if text.endswith(self._text(each))), likeliest[0])
            top: list[Json] = [
                {"token": self._text(each), "logprob": float(logprobs[each])}
                for each in likeliest[: self._alternatives]
            ]
            found.append({"token": self._text(token), "logprob": float(logprobs[token]), "top_logprobs": top})
        return found

    def _text(self, token: int) -> str:
        text: bytes = self._model.detokenize([token])
        return text.decode("utf-8", "replace")
