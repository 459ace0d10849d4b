"""One URL, fetched into memory within bounds."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from veridical.corpus.source import Source
from veridical.errors import InputRefused, WebUnavailable

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 50 * 1024 * 1024
_TIMEOUT_S = 30.0
_LONGEST_S = 120.0  # for the whole page: a server may drip a byte a second for ever
_MOST_REDIRECTS = 5
_AGENT = "veridical (+document indexing)"


def url_source(url: str) -> Source:
    """A source that is fetched when it is read. Raises InputRefused for what is no http(s) URL."""
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets that hold no IPv6 address
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InputRefused(f"{url} is no http or https URL", fix="Give a URL such as https://example.org/page.html.")
    return Source(url)


def fetch(url: str, *, transport: httpx2.BaseTransport | None = None) -> Source:
    """The URL with its content. Raises InputRefused for another scheme, WebUnavailable when it cannot be had."""
    import httpx2

    source = url_source(url)
    client = httpx2.Client(
        transport=transport,
        timeout=_TIMEOUT_S,
        follow_redirects=True,
        max_redirects=_MOST_REDIRECTS,
        headers={"User-Agent": _AGENT},
    )
    try:
        with client, client.stream("GET", source.uri) as response:
            if response.status_code >= 400:
                raise WebUnavailable(
                    f"{url} answered {response.status_code} {response.reason_phrase}",
                    fix="Open it in a browser; if it needs a login, save the page and add the file.",
                )
            content = _receive(response, url)
            modified = _modified(response.headers.get("last-modified", ""))
            media_type = response.headers.get("content-type", "").strip()
    except httpx2.TooManyRedirects as error:
        raise WebUnavailable(f"{url} redirects more than {_MOST_REDIRECTS} times", fix="Give the final URL.") from error
    except httpx2.TimeoutException as error:
        raise WebUnavailable(f"{url} did not answer within {_TIMEOUT_S:.0f} s", fix="Try again later.") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise WebUnavailable(f"{url} cannot be fetched: {error}", fix="Check the address and the network.") from error
    return Source(url, None, len(content), modified, content, media_type)


def _modified(header: str) -> float:
    """When the server says the page was changed, or now."""
    try:
        return parsedate_to_datetime(header).timestamp()
    except (ValueError, TypeError):
        return time.time()


def _receive(response: httpx2.Response, url: str) -> bytes:
    content = bytearray()
    begun = time.monotonic()
    for block in response.iter_bytes():
        content += block
        if len(content) > MOST_BYTES:
            raise WebUnavailable(
                f"{url} is larger than {MOST_BYTES // 2**20} MB", fix="Download it yourself and add the file."
            )
        if time.monotonic() - begun > _LONGEST_S:
            raise WebUnavailable(f"{url} takes longer than {_LONGEST_S:.0f} s", fix="Try again later.")
    return bytes(content)
