"""The OpenAI adapter against a real server on loopback: its format, its dialects, its manners."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from pydantic import BaseModel

from unit.asking import ASK_JSON, HELLO, KEY, ask, failure, text_of
from unit.model_server import DONE, SSE_TYPE, USAGE, Server, event, hang, pieces, say, serving, whole
from veridical.errors import InputRefused, ModelOutputInvalid
from veridical.models.openai import OpenAi, OpenAiOptions
from veridical.text.structured import parse_as, repair_prompt
from veridical.types import Chunk, Message, Prompt, Sampling

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
