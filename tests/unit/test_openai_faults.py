"""The OpenAI adapter through every fault a server can have."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from unit.asking import KEY, Naps, ask, failure, text_of
from unit.model_server import SSE_TYPE, cut, event, hang, pieces, say, serving, whole
from veridical.errors import ConfigError, ModelOutputInvalid, ModelUnavailable
from veridical.models.openai import OpenAi, OpenAiOptions


def closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


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
