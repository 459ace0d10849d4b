"""The payloads of an answer that should be server-sent events, read from bytes that may be cut anywhere."""

from __future__ import annotations

import codecs

_BLANK = b"\xef\xbb\xbf \t\r\n"  # a byte order mark counts as blank


class PayloadBuffer:
    """Collects bytes and gives the `data` of each finished event, its lines joined by newlines.

    Comments, `id`, `event` and `retry` are read over; lines end in LF, CRLF or CR. A body that begins like JSON
    or HTML is no stream of events: it is given whole, at the end.
    """

    def __init__(self) -> None:
        self._start = b""  # the first bytes that are not blank decide what the body is
        self._whole: list[bytes] = []
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""
        self._data: list[str] = []

    def feed(self, more: bytes) -> list[str]:
        """The payloads that these bytes complete, in order."""
        if not self._start:
            self._start = more = more.lstrip(_BLANK)
        if self._start[:1] in (b"{", b"[", b"<"):
            self._whole.append(more)
            return []
        text = self._rest + self._decode(more)
        # A CR at the end may be half of a CRLF: it waits for the next bytes.
        held = "\r" if text.endswith("\r") else ""
        *lines, self._rest = text.removesuffix(held).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest += held
        return self._take(lines)

    def end(self) -> list[str]:
        """What was still held when the body ended: servers forget the blank line after their last event."""
        if self._whole:
            return [b"".join(self._whole).decode("utf-8", "replace")]
        return self._take([self._rest.rstrip("\r"), ""])

    def _take(self, lines: list[str]) -> list[str]:
        payloads = []
        for line in lines:
            field, _, value = line.partition(":")
            if field == "data":
                self._data.append(value.removeprefix(" "))
            elif not line and self._data:
                payloads.append("\n".join(self._data))
                self._data = []
        return payloads
