"""The OpenAI adapter against a real server on loopback, through every fault a server can have."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from pydantic import BaseModel

from unit.model_server import DONE, SSE_TYPE, USAGE, Server, cut, event, hang, pieces, say, serving, whole
from veridical.errors import ConfigError, InputRefused, ModelOutputInvalid, ModelUnavailable, VeridicalError
from veridical.models.openai import OpenAi, OpenAiOptions
from veridical.text.structured import parse_as, repair_prompt
from veridical.types import Chunk, Message, Prompt, Sampling

HELLO = Prompt("hello@1", (Message("user", "Hello?"),))
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}
ASK_JSON = Prompt("year@1", (Message("system", "Be brief."), Message("user", "When?")), SCHEMA)
KEY = "sk-very-secret"


class Naps:
    """A sleep that only writes down how long it was asked for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def ask(
    url: str, prompt: Prompt = HELLO, sampling: Sampling = Sampling(), naps: Naps | None = None, **options: Any
) -> list[Chunk]:
    async def run() -> list[Chunk]:
        model = OpenAi(OpenAiOptions(**({"model": "tiny", "base_url": url} | options)), naps or Naps())
        try:
            return [chunk async for chunk in model.stream(prompt, sampling)]
        finally:
            await model.aclose()

    return asyncio.run(run())


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


def failure(url: str, kind: type[VeridicalError], **options: Any) -> VeridicalError:
    with pytest.raises(kind) as caught:
        ask(url, **options)
    assert caught.value.fix
    return caught.value


def closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


# ── the format ───────────────────────────────────────────────────────────────────────────────────


def test_streams_words_then_finish_and_usage() -> None:
    with serving(say("Good ", "day")) as server:
        chunks = ask(server.url, sampling=Sampling(0.3, 9, 0.8, 5, ("END",)), api_key=KEY)
    assert [chunk.text for chunk in chunks] == ["Good ", "day", ""]
    assert [chunk.finish for chunk in chunks] == ["", "", "stop"]
    assert chunks[-1].usage is not None
    assert (chunks[-1].usage.calls, chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (1, 7, 2)
    sent = server.bodies[0]
    assert sent["messages"] == [{"role": "user", "content": "Hello?"}]
    assert {k: sent[k] for k in ("temperature", "max_tokens", "top_p", "seed", "stop")} == {
        "temperature": 0.3, "max_tokens": 9, "top_p": 0.8, "seed": 5, "stop": ["END"],
    }  # fmt: skip
    assert server.sent_headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "parts",
    [
        [": ping\n\nevent: message\nid: 3\n" + event("né"), event("e", "stop"), DONE],
        [event("né").replace("\n", "\r\n"), event("e", "stop").replace("\n", "\r"), "data: [DONE]\r\r"],
        ['data: {"choices":\ndata: [{"delta": {"content": "née"},\ndata: "finish_reason": "stop"}]}\n\n' + DONE],
        [event("née", "stop").rstrip("\n")],  # neither a last blank line nor [DONE]
        [event("né").rstrip("\n") + "\n", event("e", "stop"), DONE],  # no blank line between two events
        [event("née"), DONE],  # no finish reason
        ["\ufeff\n", event("née", "stop").replace("data: ", "data:"), DONE],
        [*(event("née", "stop") + DONE)],  # one character at a time
    ],
)
def test_reads_every_spelling_of_an_event_stream(parts: list[str]) -> None:
    with serving(pieces(*parts)) as server:
        chunks = ask(server.url)
    assert text_of(chunks) == "née"
    assert chunks[-1].finish == "stop"


def test_characters_cut_between_packets_survive() -> None:
    raw = (event("naïve 猫", "stop") + DONE).replace("\\u00ef", "ï").replace("\\u732b", "猫").encode()

    def play(visit: Any) -> None:
        visit.send_response(200)
        visit.send_header("Content-Type", SSE_TYPE)
        visit.send_header("Content-Length", str(len(raw)))
        visit.end_headers()
        for byte in raw:
            visit.wfile.write(bytes([byte]))
            visit.wfile.flush()

    with serving(play) as server:
        assert text_of(ask(server.url)) == "naïve 猫"


def test_a_server_that_ignores_stream_is_understood() -> None:
    body = {
        "choices": [{"message": {"content": "All at once"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 3},
    }
    with serving(whole("\n" + json.dumps(body))) as server:
        chunks = ask(server.url)
    assert text_of(chunks) == "All at once"
    assert chunks[-1].finish == "length"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == 3


def test_without_usage_from_the_server_it_is_estimated() -> None:
    with serving(pieces(event("a"), event("b"), event(finish="stop"), DONE)) as server:
        usage = ask(server.url, Prompt("p@1", (Message("user", "x" * 40),)))[-1].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (10, 2)


def test_logprobs_are_read_where_offered() -> None:
    top = [{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -2.4}]
    told = {"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": top}]}
    with serving(pieces(event("Yes", logprobs=told), event(finish="stop"), DONE)) as server:
        chunk = ask(server.url, sampling=Sampling(logprobs=2))[0]
    assert (server.bodies[0]["logprobs"], server.bodies[0]["top_logprobs"]) == (True, 2)
    assert chunk.logprobs[0].logprob == -0.1
    assert chunk.logprobs[0].alternatives == {"Yes": -0.1, "No": -2.4}


# ── what a server may not know ───────────────────────────────────────────────────────────────────


def refuses(*words: str) -> Any:
    """Answers 400 to a request that contains one of these words, naming it."""

    def play(visit: Any) -> None:
        bad = next((word for word in words if word in json.dumps(visit.body)), None)
        if bad:
            visit.send(
                400, json.dumps({"error": {"message": f"Unrecognized request argument: {bad}"}}), "application/json"
            )
        else:
            say('{"year": 1913}')(visit)

    return play


def test_usage_wish_is_dropped_when_refused_and_not_made_again() -> None:
    async def twice(server: Server) -> list[Chunk]:
        model = OpenAi(OpenAiOptions("tiny", server.url))
        try:
            return [chunk for _ in range(2) async for chunk in model.stream(HELLO, Sampling())]
        finally:
            await model.aclose()

    with serving(refuses("stream_options")) as server:
        assert len(asyncio.run(twice(server))) == 4
        assert ["stream_options" in body for body in server.bodies] == [True, False, False]


@pytest.mark.parametrize(
    ("refused", "formats"),
    [
        ((), ["json_schema"]),
        (("json_schema",), ["json_schema", "json_object"]),
        (("response_format",), ["json_schema", "json_object", None]),
    ],
)
def test_schema_falls_back_to_what_the_server_takes(refused: tuple[str, ...], formats: list[str | None]) -> None:
    with serving(refuses(*refused)) as server:
        assert json.loads(text_of(ask(server.url, ASK_JSON))) == {"year": 1913}
    assert [body.get("response_format", {}).get("type") for body in server.bodies] == formats
    if refused:  # then the schema stands in the one system message
        told = server.bodies[-1]["messages"]
        assert [message["role"] for message in told] == ["system", "user"]
        assert '"year"' in told[0]["content"]


def test_a_server_that_does_not_say_what_it_refuses() -> None:
    def play(visit: Any) -> None:
        if "stream_options" in visit.body or "response_format" in visit.body:
            visit.send(422, '{"detail": "extra fields not permitted"}', "application/json")
        else:
            say("{}")(visit)

    with serving(play) as server:
        assert text_of(ask(server.url, ASK_JSON)) == "{}"


@pytest.mark.parametrize("field", ["logprobs", "seed", "temperature", "max_tokens"])
def test_other_refused_fields_are_left_out(field: str) -> None:
    def play(visit: Any) -> None:
        if field in visit.body:
            hint = "use max_completion_tokens" if field == "max_tokens" else "is not supported"
            visit.send(400, json.dumps({"error": {"message": f"'{field}' {hint}"}}), "application/json")
        else:
            say("ok")(visit)

    with serving(play) as server:
        assert text_of(ask(server.url, sampling=Sampling(logprobs=1, seed=1))) == "ok"
    if field == "max_tokens":
        assert server.bodies[-1]["max_completion_tokens"] == 512


def test_a_prompt_beyond_the_context_is_refused_with_the_servers_numbers() -> None:
    told = {"error": {"message": "request (3031 tokens) exceeds the available context size (512 tokens)", "code": 400}}
    with serving(whole(json.dumps(told), status=400)) as server:
        error = failure(server.url, InputRefused)
    assert "3031" in error.message
    assert "512" in error.message


# ── faults ───────────────────────────────────────────────────────────────────────────────────────


def test_refused_connection_is_retried_then_explained() -> None:
    naps = Naps()
    error = failure(closed_port(), ModelUnavailable, naps=naps, retries=3, backoff_s=1.0)
    assert "start the server" in error.fix
    assert len(naps.seconds) == 3
    assert all(2**n / 2 <= nap <= 2**n for n, nap in enumerate(naps.seconds))  # exponential, with jitter


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504])
def test_passing_failures_are_retried(status: int) -> None:
    naps = Naps()
    with serving(whole("busy", status=status), say("ok")) as server:
        assert text_of(ask(server.url, naps=naps)) == "ok"
    assert len(server.bodies) == 2
    assert len(naps.seconds) == 1


def test_retries_end() -> None:
    with serving(whole('{"error": "boom"}', status=500)) as server:
        assert "500" in failure(server.url, ModelUnavailable, retries=2).message
    assert len(server.bodies) == 3


def test_retry_after_in_seconds_is_honoured() -> None:
    naps = Naps()
    with serving(whole("", status=429, Retry_After="7"), say("ok")) as server:
        ask(server.url, naps=naps)
    assert naps.seconds == [7.0]


def test_retry_after_as_a_date_is_honoured() -> None:
    naps = Naps()
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    with serving(whole("", status=429, Retry_After=date), say("ok")) as server:
        ask(server.url, naps=naps)
    assert 25 < naps.seconds[0] <= 30


@pytest.mark.parametrize("nonsense", ["soon", "nan", "-5", "99 Foo 2020"])
def test_unreadable_retry_after_falls_back_to_backoff(nonsense: str) -> None:
    naps = Naps()
    with serving(whole("", status=503, Retry_After=nonsense), say("ok")) as server:
        assert text_of(ask(server.url, naps=naps, backoff_s=1.0)) == "ok"
    assert 0 <= naps.seconds[0] <= 1


def test_a_wait_of_an_hour_is_reported_not_slept() -> None:
    naps = Naps()
    with serving(whole("quota", status=429, Retry_After="3600")) as server:
        assert "3600 s" in failure(server.url, ModelUnavailable, naps=naps).fix
    assert naps.seconds == []


def test_hanging_before_the_headers() -> None:
    with serving(hang()) as server:
        error = failure(server.url, ModelUnavailable, timeout_s=0.1)
        assert len(server.bodies) == 1  # a hung server is not asked again
    assert "silent for 0.1 s" in error.message
    assert "timeout_s" in error.fix


def test_hanging_in_the_middle() -> None:
    with serving(hang(event("Good "))) as server:
        assert "after 5 characters" in failure(server.url, ModelUnavailable, timeout_s=0.1).message


@pytest.mark.parametrize("play", [cut(event("Good ")), pieces(event("Good "))])
def test_closing_in_the_middle_is_never_retried(play: Any) -> None:
    with serving(play) as server:
        error = failure(server.url, ModelUnavailable)
    assert "after 5 characters" in error.message
    assert len(server.bodies) == 1


def test_closing_before_the_first_word_is_retried() -> None:
    with serving(cut(), cut(event()), say("ok")) as server:
        assert text_of(ask(server.url)) == "ok"


@pytest.mark.parametrize(
    "play",
    [
        pieces("data: {not json\n\n"),
        pieces(event("fine"), "data: \x00\x01\x02\n\n"),
        pieces('data: {"choices": "none"}\n\n'),
        pieces('data: {"hello": "world"}\n\n'),
        pieces("data: 42\n\n"),
        pieces("random bytes without any event\n" * 3),
        whole(""),
        whole("", SSE_TYPE),
        whole("<html><body>Welcome to nginx</body></html>", "text/html"),
        whole(b"\xff\xfe\x00garbage", SSE_TYPE),
        whole("[]"),
    ],
)
def test_garbage_is_called_garbage(play: Any) -> None:
    with serving(play) as server:
        error = failure(server.url, ModelOutputInvalid)
    assert "no chat completion" in error.message
    assert "\x00" not in error.message


def test_an_error_inside_the_stream() -> None:
    with serving(pieces(event("Good"), 'data: {"error": {"message": "CUDA out of memory"}}\n\n')) as server:
        assert "CUDA out of memory" in failure(server.url, ModelUnavailable).message


def test_a_huge_answer_is_bounded() -> None:
    with serving(pieces(*[event("x" * 1000)] * 100)) as server:
        assert "20,000 bytes" in failure(server.url, ModelOutputInvalid, max_bytes=20_000).message


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_named_but_never_shown(status: int) -> None:
    with serving(whole(f"bad key {KEY}", status=status)) as server:
        error = failure(server.url, ModelUnavailable, api_key=KEY)
    assert "api_key" in error.fix
    assert KEY not in str(error)


def test_the_key_is_shown_nowhere() -> None:
    with serving(whole(f"I know {KEY}", status=500)) as server:
        url = server.url.replace("http://", "http://me:hunter2@")
        error = failure(url, ModelUnavailable, api_key=KEY, retries=0)
        options = OpenAiOptions("tiny", url, KEY)
    shown = f"{error} {options.model} {OpenAi(options)!r}"
    assert KEY not in shown + repr(options)
    assert "hunter2" not in shown


def test_an_unknown_model_lists_those_there_are() -> None:
    with serving(whole('{"error": "no such model"}', status=404), models=["llama3", "qwen"]) as server:
        error = failure(server.url, ModelUnavailable)
    assert "'tiny'" in error.message
    assert "llama3, qwen" in error.fix


def test_a_wrong_path_says_so() -> None:
    with serving(whole("not found", status=404), models=()) as server:
        assert "/v1" in failure(server.url, ModelUnavailable).fix


def test_a_redirect_is_reported() -> None:
    with serving(whole("", status=301, Location="https://elsewhere/v1")) as server:
        assert "https://elsewhere/v1" in failure(server.url, ModelUnavailable).message


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x/v1", "", "http://", "http://x:port/v1"])
def test_a_base_url_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError):
        OpenAi(OpenAiOptions("tiny", url))


# ── leaving, sharing, repairing ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("leave", ["cancel", "break"])
def test_leaving_closes_the_connection_at_once(leave: str) -> None:
    async def run(server: Server) -> None:
        model = OpenAi(OpenAiOptions("tiny", server.url))
        words: asyncio.Queue[str] = asyncio.Queue()

        async def listen() -> None:
            async for chunk in model.stream(HELLO, Sampling()):
                words.put_nowait(chunk.text)
                if leave == "break":
                    return

        task = asyncio.create_task(listen())
        assert await words.get() == "Good "
        if leave == "cancel":
            task.cancel()
        await asyncio.wait([task])
        assert await asyncio.to_thread(server.left.wait, 0.5)
        await model.aclose()

    with serving(hang(event("Good "))) as server:
        asyncio.run(run(server))


def test_concurrency_is_limited() -> None:
    def slow(visit: Any) -> None:
        time.sleep(0.03)
        say("ok")(visit)

    async def run(server: Server) -> None:
        model = OpenAi(OpenAiOptions("tiny", server.url, concurrency=2))

        async def one() -> None:
            assert [chunk.text async for chunk in model.stream(HELLO, Sampling())] == ["ok", ""]

        await asyncio.gather(*(one() for _ in range(6)))
        await model.aclose()

    with serving(slow) as server:
        asyncio.run(run(server))
        assert len(server.bodies) == 6
        assert server.most_at_once == 2


def test_one_model_serves_one_event_loop_after_another() -> None:
    async def once(model: OpenAi) -> str:
        try:
            return "".join([chunk.text async for chunk in model.stream(HELLO, Sampling())])
        finally:
            await model.aclose()

    with serving(say("ok")) as server:
        model = OpenAi(OpenAiOptions("tiny", server.url))
        assert [asyncio.run(once(model)) for _ in range(2)] == ["ok", "ok"]


def test_a_wrong_shape_is_repaired_in_the_second_round() -> None:
    class Year(BaseModel):
        year: int

    with serving(say('{"year": "long ago"}'), say('Sorry! ```json\n{"year": 1913,}\n```')) as server:
        first = text_of(ask(server.url, ASK_JSON))
        with pytest.raises(ModelOutputInvalid) as wrong:
            parse_as(Year, first)
        second = text_of(ask(server.url, repair_prompt(ASK_JSON, first, wrong.value.message)))
        assert parse_as(Year, second) == Year(year=1913)
    asked_again = server.bodies[1]["messages"]
    assert [message["role"] for message in asked_again] == ["system", "user", "assistant", "user"]
    assert "year: Input should be a valid integer" in asked_again[-1]["content"]


def test_usage_event_after_the_end_is_read() -> None:
    with serving(pieces(event("a", "stop"), USAGE)) as server:
        usage = ask(server.url)[-1].usage
    assert usage is not None
    assert usage.prompt_tokens == 7
