"""One URL, within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date

import httpx2
import pytest

from veridical.corpus import ReadOptions, read, url_source, web
from veridical.errors import InputRefused, WebUnavailable


def served(answer: Callable[[httpx2.Request], httpx2.Response]) -> httpx2.MockTransport:
    return httpx2.MockTransport(answer)


def test_a_page_is_fetched_with_its_type() -> None:
    headers = {"content-type": "text/html; charset=utf-8", "last-modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
    transport = served(lambda _: httpx2.Response(200, headers=headers, content=b"<title>Wall</title><p>It rose.</p>"))
    source = web.fetch("https://example.org/wall", transport=transport)
    assert (source.uri, source.media_type, source.path) == (
        "https://example.org/wall",
        "text/html; charset=utf-8",
        None,
    )
    (document,) = read(source, ReadOptions())
    assert (document.title, document.text, document.date) == ("Wall", "It rose.", date(2015, 10, 21))


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://example.org/x", "example.org", "https://", "javascript:x"]
)
def test_other_schemes_are_refused(url: str) -> None:
    with pytest.raises(InputRefused, match="no http or https"):
        url_source(url)
    with pytest.raises(InputRefused):
        web.fetch(url)


@pytest.mark.parametrize("status", [403, 404, 500])
def test_an_error_page_is_no_document(status: int) -> None:
    with pytest.raises(WebUnavailable, match=str(status)):
        web.fetch("http://example.org/", transport=served(lambda _: httpx2.Response(status, content=b"Sorry")))


def test_redirects_are_followed_but_not_for_ever() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        step = int(request.url.path[1:])
        if step == 3:
            return httpx2.Response(200, content=b"It rose.")
        return httpx2.Response(302, headers={"location": f"/{step + 1}"})

    assert web.fetch("http://example.org/0", transport=served(answer)).content == b"It rose."
    with pytest.raises(WebUnavailable, match="redirects more than 5"):
        web.fetch("http://example.org/4", transport=served(answer))


def test_a_redirect_to_another_scheme_is_not_followed() -> None:
    transport = served(lambda _: httpx2.Response(302, headers={"location": "file:///etc/passwd"}))
    with pytest.raises(WebUnavailable):
        web.fetch("http://example.org/", transport=transport)


def test_a_page_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 65536

    monkeypatch.setattr(web, "MOST_BYTES", 1 << 20)
    with pytest.raises(WebUnavailable, match="larger than 1 MB"):
        web.fetch("http://example.org/", transport=served(lambda _: httpx2.Response(200, content=endless())))


def test_a_silent_server_is_given_up() -> None:
    def hang(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("slow", request=request)

    with pytest.raises(WebUnavailable, match="did not answer"):
        web.fetch("http://example.org/", transport=served(hang))


def test_an_address_with_broken_brackets_is_refused() -> None:
    with pytest.raises(InputRefused):
        url_source("http://[::bad")
