"""A language model behind any OpenAI-compatible server: vLLM, Ollama, llama.cpp, LM Studio, OpenAI."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2

from veridical.errors import ConfigError, ModelOutputInvalid, ModelUnavailable, VeridicalError
from veridical.models.sse import PayloadBuffer
from veridical.models.wire import Dialect, Reading, excerpt, refusal
from veridical.types import Chunk, Json, Prompt, Sampling

_WORTH_RETRYING = frozenset({408, 409, 429, 500, 502, 503, 504})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_DONE = "[DONE]"
_ERROR_BYTES = 64 * 1024  # of an error page, this much is read


@dataclass(frozen=True, slots=True)
class OpenAiOptions:
    """`timeout_s` bounds a silence (before the first byte or between two), not the whole answer."""

    model: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 120.0
    connect_timeout_s: float = 5.0
    retries: int = 3
    backoff_s: float = 0.5  # doubles with each retry
    longest_wait_s: float = 60.0  # a server that asks for more than this is reported instead
    concurrency: int = 4
    max_bytes: int = 16 * 1024 * 1024  # of one answer, framing included


class _Transient(Exception):
    """A failure that a retry may mend, and the error to raise when it does not."""

    def __init__(self, error: VeridicalError, wait_s: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.wait_s = wait_s  # what Retry-After asks for


class _OtherDialect(Exception):
    """The server refused a part of the format: the request is to be put otherwise."""


@dataclass(frozen=True, slots=True)
class _Session:
    """What belongs to one event loop."""

    loop: asyncio.AbstractEventLoop
    client: httpx2.AsyncClient
    places: asyncio.Semaphore


class OpenAi:
    """A Generator over HTTP. Retries only while nothing has been said; close it with `aclose`."""

    def __init__(self, options: OpenAiOptions, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.options = options
        self._url = _checked_url(options.base_url)
        self._sleep = sleep
        self._dialect = Dialect()
        self._session: _Session | None = None

    def __repr__(self) -> str:
        return f"OpenAi({self.options.model!r} at {self._shown})"

    async def stream(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Chunk]:
        """Text as it arrives, then one chunk with the finish reason and the usage.

        Raises ModelUnavailable (down, silent, refusing), ModelOutputInvalid (not the format), InputRefused (too long).
        """
        started, failures = time.monotonic(), 0
        session = self._enter()
        async with session.places:
            while True:
                reading = Reading(repr(self), prompt)
                try:
                    async with aclosing(self._once(session.client, prompt, sampling, reading)) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    break
                except _OtherDialect:
                    continue
                except _Transient as failure:
                    failures += 1
                    if reading.characters or failures > self.options.retries:
                        raise failure.error from failure
                    await self._sleep(self._wait_s(failure, failures))
        yield reading.last(time.monotonic() - started)

    async def models(self) -> tuple[str, ...]:
        """The names the server offers; empty when it does not say."""
        client = self._enter().client
        try:
            answer = await client.get(f"{self._url}/models", timeout=self.options.connect_timeout_s)
            listed = answer.json()["data"] if answer.status_code == 200 else []
            return tuple(str(model["id"]) for model in listed)
        except (httpx2.HTTPError, ValueError, KeyError, TypeError):
            return ()

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None and session.loop is asyncio.get_running_loop():
            await session.client.aclose()

    def _enter(self) -> _Session:
        loop, session = asyncio.get_running_loop(), self._session
        if session is None or session.loop is not loop:
            limits = self.options
            headers = {"Authorization": f"Bearer {limits.api_key}"} if limits.api_key else {}
            client = httpx2.AsyncClient(
                headers=headers,
                timeout=httpx2.Timeout(limits.timeout_s, connect=limits.connect_timeout_s),
                trust_env=httpx2.URL(self._url).host not in _LOOPBACK,  # a proxy cannot reach our loopback
            )
            session = self._session = _Session(loop, client, asyncio.Semaphore(limits.concurrency))
        return session

    async def _once(
        self, client: httpx2.AsyncClient, prompt: Prompt, sampling: Sampling, reading: Reading
    ) -> AsyncGenerator[Chunk, None]:
        dialect = self._dialect
        body = dialect.body(self.options.model, prompt, sampling)
        try:
            async with client.stream("POST", f"{self._url}/chat/completions", json=body) as response:
                if response.status_code != 200:
                    await self._refuse(response, dialect, body)
                async with aclosing(self._events(response, reading)) as events:
                    async for event in events:
                        chunk = reading.take(event)
                        if chunk is not None:
                            yield chunk
        except httpx2.HTTPError as error:
            raise self._lost(error, reading) from error

    async def _events(self, response: httpx2.Response, reading: Reading) -> AsyncGenerator[object, None]:
        """The JSON values of the answer, until [DONE], or one value from a server that does not stream."""
        buffer, arrived, arriving = PayloadBuffer(), 0, response.aiter_bytes()
        async for more in arriving:
            arrived += len(more)
            if arrived > self.options.max_bytes:
                raise self._too_big()
            for payload in buffer.feed(more):
                if payload.strip() == _DONE:
                    await _drain(arriving)
                    return
                for event in _parse(payload, reading):
                    yield event
        for payload in buffer.end():
            for event in _parse(payload, reading) if payload.strip() != _DONE else ():
                yield event
        if not reading.events:
            raise reading.garbled("")
        if not reading.finish:
            raise _Transient(self._cut_off(reading))

    async def _refuse(self, response: httpx2.Response, dialect: Dialect, body: dict[str, Json]) -> None:
        """Raises what an answer other than 200 means."""
        status, text = response.status_code, self._without_key(await _start_of(response))
        if status in _WORTH_RETRYING:
            error = ModelUnavailable(
                f"{self!r} answered {status} {response.reason_phrase}: {excerpt(text) or 'no explanation'}",
                fix="the server is overloaded or failing: try again later, or read its log",
            )
            wait_s = _retry_after_s(response.headers.get("Retry-After"))
            if wait_s is not None and wait_s > self.options.longest_wait_s:
                raise ModelUnavailable(error.message, fix=f"the server asks to wait {wait_s:.0f} s before trying again")
            raise _Transient(error, wait_s)
        if status in (400, 422):
            if self._dialect is not dialect:  # another request has learnt it meanwhile
                raise _OtherDialect
            other = dialect.after_refusal(text, body)
            if other is not None:
                self._dialect = other
                raise _OtherDialect
        raise await self._final_refusal(status, text, response.headers.get("Location", ""))

    async def _final_refusal(self, status: int, text: str, location: str) -> VeridicalError:
        if status in (401, 403):
            key = "the API key it was given" if self.options.api_key else "a request without an API key"
            return ModelUnavailable(
                f"{self!r} refuses {key} ({status})",
                fix="set openai.api_key (or OPENAI_API_KEY) to a key of this server",
            )
        if status == 404:
            offered = await self.models()
            if offered:
                return ModelUnavailable(
                    f"{self._shown} has no model {self.options.model!r}",
                    fix=f"set the model to one it offers: {excerpt(', '.join(offered))}",
                )
            return ModelUnavailable(
                f"{self!r} answered 404: {excerpt(text)}",
                fix="check the base URL (it usually ends in /v1) and the name of the model",
            )
        if 300 <= status < 400:
            return ModelUnavailable(f"{self!r} redirects to {excerpt(location)}", fix="set that as the base URL")
        return refusal(f"{self!r} ({status})", text)

    def _lost(self, error: httpx2.HTTPError, reading: Reading) -> Exception:
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            what = f"no server answers at {self._shown} ({excerpt(str(error)) or type(error).__name__})"
            return _Transient(ModelUnavailable(what, fix="start the server, or set openai.base_url to where it runs"))
        if isinstance(error, httpx2.TimeoutException):
            silent = f"{self!r} was silent for {self.options.timeout_s:g} s after {reading.characters} characters"
            return ModelUnavailable(silent, fix="raise openai.timeout_s if the model is slow, or restart the server")
        if isinstance(error, httpx2.DecodingError):
            return reading.garbled(str(error))
        return _Transient(self._cut_off(reading))

    def _cut_off(self, reading: Reading) -> ModelUnavailable:
        return ModelUnavailable(
            f"{self!r} closed the connection after {reading.characters} characters, before the end of its answer",
            fix="ask again; if it happens again, read the server's log (it may have run out of memory)",
        )

    def _too_big(self) -> ModelOutputInvalid:
        limit = self.options.max_bytes
        return ModelOutputInvalid(
            f"{self!r} sent more than {limit:,} bytes in one answer",
            fix="the server does not keep to the length it was asked for: use another model or server",
        )

    def _wait_s(self, failure: _Transient, failures: int) -> float:
        if failure.wait_s is not None:
            return failure.wait_s
        longest = float(min(self.options.backoff_s * 2 ** (failures - 1), self.options.longest_wait_s))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 — spreads clients out, keeps no secret

    def _without_key(self, text: str) -> str:
        return text.replace(self.options.api_key, "…") if self.options.api_key else text

    @property
    def _shown(self) -> str:
        """The address without a password in it."""
        return str(httpx2.URL(self._url).copy_with(userinfo=b""))


def _checked_url(base_url: str) -> str:
    url = base_url.strip().rstrip("/").removesuffix("/chat/completions")
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise ConfigError(f"{base_url!r} is no URL", fix="write it like http://127.0.0.1:8080/v1") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigError(f"{base_url!r} is no base URL of a server", fix="write it like http://127.0.0.1:8080/v1")
    return url


def _parse(payload: str, reading: Reading) -> list[object]:
    try:
        return [json.loads(payload)]
    except ValueError as error:
        lines = [line for line in payload.splitlines() if line.strip() != _DONE]
        if len(lines) < 2:
            raise reading.garbled(payload) from error
    try:  # a server that forgets the blank line between two events
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise reading.garbled(payload) from error


async def _drain(arriving: AsyncIterator[bytes]) -> None:
    """Reads the end of a finished answer, so that the connection can serve the next; never waits long for it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            async for _ in arriving:
                pass


async def _start_of(response: httpx2.Response) -> str:
    start = b""
    async for more in response.aiter_bytes():
        start += more
        if len(start) > _ERROR_BYTES:
            break
    return start[:_ERROR_BYTES].decode("utf-8", "replace")


def _retry_after_s(header: str | None) -> float | None:
    """Seconds to wait, from either form of the header; None when it says nothing readable."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
