"""A language-model server on loopback that speaks the OpenAI chat format, and misbehaves on request."""

from __future__ import annotations

import json
import select
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Play: TypeAlias = Callable[["Visit"], None]
JSON_TYPE = "application/json"
SSE_TYPE = "text/event-stream"


class Visit(BaseHTTPRequestHandler):
    """One request, and the means to answer it well or badly."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            number = len(self.server.bodies)
            self.server.bodies.append(self.body)
            self.server.sent_headers.append(dict(self.headers))
            self.server.now += 1
            self.server.most_at_once = max(self.server.most_at_once, self.server.now)
        try:
            self.server.plays[min(number, len(self.server.plays) - 1)](self)
        except (BrokenPipeError, ConnectionResetError):
            self.server.left.set()
        finally:
            with self.server.lock:
                self.server.now -= 1

    def do_GET(self) -> None:
        listed = {"data": [{"id": name} for name in self.server.models]}
        found = self.path in ("/v1/models", "/models") and self.server.models
        self.send(200 if found else 404, json.dumps(listed) if found else "", JSON_TYPE)

    def send(self, status: int, text: str | bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        raw = text.encode() if isinstance(text, str) else text
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(raw)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", SSE_TYPE)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def write_chunk(self, text: str) -> None:
        raw = text.encode()
        self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        self.wfile.flush()

    def hang(self) -> None:
        """Says nothing until the client leaves or the test ends."""
        while not self.server.over.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0.01)
            if readable and not self.connection.recv(1):
                self.server.left.set()
                return

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, plays: Sequence[Play], models: Sequence[str]) -> None:
        super().__init__(("127.0.0.1", 0), Visit)
        self.plays = list(plays)
        self.models = list(models)
        self.bodies: list[dict[str, Any]] = []
        self.sent_headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        self.now = self.most_at_once = 0
        self.over = threading.Event()
        self.left = threading.Event()  # a client went away before the answer was complete

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def serving(*plays: Play, models: Sequence[str] = ("tiny",)) -> Iterator[Server]:
    """A server whose nth request gets the nth play; the last play serves all that follow."""
    with Server(plays, models) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


# ── plays ────────────────────────────────────────────────────────────────────────────────────────


def event(text: str | None = None, finish: str | None = None, **extra: Any) -> str:
    choice: dict[str, Any] = {
        "index": 0,
        "delta": {"content": text} if text is not None else {},
        "finish_reason": finish,
    }
    return "data: " + json.dumps({"choices": [choice | extra]}) + "\n\n"


USAGE = 'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}\n\n'
DONE = "data: [DONE]\n\n"


def say(*words: str) -> Play:
    """A well-formed stream of these words."""
    return pieces(*(event(word) for word in words), event(finish="stop"), USAGE, DONE)


def pieces(*parts: str) -> Play:
    """A complete HTTP answer whose body is these parts, sent one by one."""

    def play(visit: Visit) -> None:
        visit.begin_stream()
        for part in parts:
            visit.write_chunk(part)
        visit.wfile.write(b"0\r\n\r\n")

    return play


def whole(text: str | bytes, kind: str = JSON_TYPE, status: int = 200, **headers: str) -> Play:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda visit: visit.send(status, text, kind, named)


def hang(*first: str) -> Play:
    """Sends headers and these parts, then nothing; without parts not even the headers."""

    def play(visit: Visit) -> None:
        if first:
            visit.begin_stream()
        for part in first:
            visit.write_chunk(part)
        visit.hang()

    return play


def cut(*first: str) -> Play:
    """Closes the connection in the middle of the body; without parts before the headers."""

    def play(visit: Visit) -> None:
        if first:
            visit.begin_stream()
        for part in first:
            visit.write_chunk(part)
        visit.close_connection = True

    return play
