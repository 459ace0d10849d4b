"""The OpenAI chat format, as servers and embedded runtimes speak it: requests out, chunks in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from veridical.errors import InputRefused, ModelOutputInvalid, ModelUnavailable, VeridicalError
from veridical.types import Chunk, Json, Message, Prompt, Sampling, TokenLogprob, Usage

_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_REFUSES_EXTRAS = re.compile(r"unknown|unrecogni[sz]ed|unexpected|extra|not permitted|unsupported|additional", re.I)
_TOO_LONG = re.compile(r"context.{0,20}(length|size|window)|exceed_context|too many tokens|prompt is too long", re.I)


# ── what is asked ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which optional parts of the format a server takes; it begins hopeful and learns from refusals."""

    usage: bool = True
    schema: str = "json_schema"  # then json_object, then prompt: the wish is only written into the messages
    length_field: str = "max_tokens"
    without: frozenset[str] = frozenset()  # fields the server refused by name

    def body(self, model: str, prompt: Prompt, sampling: Sampling) -> dict[str, Json]:
        """The request. Fields at their neutral value are left out, since some servers refuse even those."""
        fields: dict[str, Json] = {"model": model, "stream": True, "temperature": sampling.temperature}
        fields[self.length_field] = sampling.max_tokens
        if self.usage:
            fields["stream_options"] = {"include_usage": True}
        if sampling.top_p < 1:
            fields["top_p"] = sampling.top_p
        if sampling.seed is not None:
            fields["seed"] = sampling.seed
        if sampling.stop:
            fields["stop"] = list(sampling.stop)
        if sampling.logprobs:
            fields |= {"logprobs": True, "top_logprobs": sampling.logprobs}
        messages = prompt.messages
        if prompt.schema is not None:
            if self.schema == "json_schema":
                fields["response_format"] = _schema_format(prompt.name, prompt.schema)
            else:
                messages = _with_schema(messages, prompt.schema)
            if self.schema == "json_object":
                fields["response_format"] = {"type": "json_object"}
        fields["messages"] = [{"role": message.role, "content": message.content} for message in messages]
        return {name: value for name, value in fields.items() if name not in self.without}

    def after_refusal(self, text: str, body: Mapping[str, Json]) -> Dialect | None:
        """The dialect to try next after a 400 with this text; None when no part of the format is to blame."""
        named = text.lower()
        if "max_completion_tokens" in named and self.length_field == "max_tokens":
            return replace(self, length_field="max_completion_tokens")
        # Some servers say that something is too much, but not what.
        says_what = "schema" in named or any(field in named for field in body)
        vague = not named.strip() or (not says_what and bool(_REFUSES_EXTRAS.search(named)))
        if "stream_options" in body and (vague or "stream_options" in named or "include_usage" in named):
            return replace(self, usage=False)
        if "response_format" in body and (vague or re.search("response_format|json|schema", named)):
            return replace(self, schema="json_object" if self.schema == "json_schema" else "prompt")
        for fields in ({"logprobs", "top_logprobs"}, {"seed"}, {"temperature"}, {"top_p"}):
            if any(field in body and re.search(rf"\b{field}\b", named) for field in fields):
                return replace(self, without=self.without | fields)
        return None


def _schema_format(name: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    title = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "answer"
    described: dict[str, Json] = {"name": title, "schema": dict(schema), "strict": _is_closed(dict(schema))}
    return {"type": "json_schema", "json_schema": described}


def _is_closed(schema: Json) -> bool:
    """Strict mode takes only objects that forbid further keys and require each of theirs."""
    if isinstance(schema, list):
        return all(_is_closed(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict):
        required = schema.get("required")
        if schema.get("additionalProperties") is not False or not isinstance(required, list):
            return False
        if set(properties) - {name for name in required if isinstance(name, str)}:
            return False
    return all(_is_closed(part) for part in schema.values())


def _with_schema(messages: Iterable[Message], schema: Mapping[str, Json]) -> tuple[Message, ...]:
    wish = "Reply with one JSON value and nothing else. It must match this JSON schema:\n" + json.dumps(dict(schema))
    first, *rest = messages
    if first.role == "system":  # one system message: many chat templates refuse a second
        return (Message("system", f"{first.content}\n\n{wish}"), *rest)
    return (Message("system", wish), first, *rest)


# ── what is answered ─────────────────────────────────────────────────────────────────────────────


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Alternative(_Lenient):
    token: str
    logprob: float


class _Token(_Alternative):
    top_logprobs: list[_Alternative] | None = None


class _Logprobs(_Lenient):
    content: list[_Token] | None = None


class _Text(_Lenient):
    content: str | None = None


class _Choice(_Lenient):
    delta: _Text | None = None
    message: _Text | None = None  # a server that ignored `stream`
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Counts(_Lenient):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Event(_Lenient):
    choices: list[_Choice] | None = None
    usage: _Counts | None = None
    error: Any = None


class Reading:
    """One answer as it arrives: turns events into chunks and remembers what the last chunk must say."""

    def __init__(self, who: str, prompt: Prompt) -> None:
        self.who = who
        self.characters = 0
        self.finish = ""
        self.events = 0
        self._prompt_characters = sum(len(message.content) for message in prompt.messages)
        self._pieces = 0
        self._counts: _Counts | None = None

    def take(self, event: object) -> Chunk | None:
        """The chunk in an event, None when it has no text.

        Raises ModelOutputInvalid when the event is not of the format, and what `refusal` makes of an error in it.
        """
        try:
            read = _Event.model_validate(event)
        except ValidationError as error:
            raise self.garbled(str(event)) from error
        if read.error is not None:
            raise refusal(self.who, json.dumps(read.error, default=str))
        if read.choices is None and read.usage is None:
            raise self.garbled(str(event))
        self.events += 1
        self._counts = read.usage or self._counts
        if not read.choices:
            return None
        choice = read.choices[0]
        self.finish = choice.finish_reason or self.finish
        part = choice.delta or choice.message
        text = (part.content if part else None) or ""
        logprobs = _logprobs(choice.logprobs)
        if not text and not logprobs:
            return None
        self.characters += len(text)
        self._pieces += 1
        return Chunk(text, logprobs)

    def last(self, seconds: float) -> Chunk:
        """The closing chunk. Where the model counts no tokens, a piece is one and four prompt characters are one."""
        counts = self._counts or _Counts(prompt_tokens=self._prompt_characters // 4, completion_tokens=self._pieces)
        usage = Usage(1, counts.prompt_tokens, counts.completion_tokens, seconds)
        return Chunk(finish=self.finish or "stop", usage=usage)

    def garbled(self, what: str) -> ModelOutputInvalid:
        return ModelOutputInvalid(
            f"{self.who} sent something that is no chat completion: {excerpt(what)!r}",
            fix="check that the base URL is that of an OpenAI-compatible server (it usually ends in /v1)",
        )


def _logprobs(found: _Logprobs | None) -> tuple[TokenLogprob, ...]:
    if found is None or not found.content:
        return ()
    return tuple(
        TokenLogprob(token.token, token.logprob, {other.token: other.logprob for other in token.top_logprobs or ()})
        for token in found.content
    )


def refusal(who: str, text: str) -> VeridicalError:
    """The error for a request that the model refused with these words (JSON or plain)."""
    if _TOO_LONG.search(text):
        return InputRefused(
            f"the prompt does not fit the context of {who}: {_message(text)}",
            fix="ask with fewer or shorter passages, or load the model with a larger context",
        )
    return ModelUnavailable(
        f"{who} refused the request: {_message(text)}",
        fix="the words after the colon are the server's own; its log may say more",
    )


def _message(text: str) -> str:
    """The human sentence inside an error body, which nests it as `error.message`, `message` or `detail`."""
    try:
        found: Any = json.loads(text)
    except ValueError:
        return excerpt(text)
    for _ in range(3):
        if not isinstance(found, dict):
            break
        found = next((found[key] for key in ("error", "message", "detail") if found.get(key)), json.dumps(found))
    return excerpt(str(found))


def excerpt(text: str, length: int = 300) -> str:
    """`text` on one line without control characters, so that a hostile server cannot write on the terminal."""
    line = _CONTROL.sub(" ", text).strip()
    return line if len(line) <= length else line[:length] + "…"
