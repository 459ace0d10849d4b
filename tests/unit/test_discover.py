"""Servers on loopback are found, and what is no model server is not."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from unit.model_server import say, serving
from veridical.models.discover import Found, discover


@contextmanager
def answering(path: str, body: str) -> Iterator[int]:
    class Visit(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == path else 404)
            self.end_headers()
            self.wfile.write(body.encode() if self.path == path else b"")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Visit) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_finds_what_lists_models_and_keeps_the_order() -> None:
    tags = json.dumps({"models": [{"name": "llama3:8b"}]})
    with (
        serving(say("x"), models=["a", "b"]) as vllm,
        answering("/api/tags", tags) as ollama,
        answering("/v1/models", "<html>Jenkins</html>") as other,
    ):
        port = vllm.server_address[1]
        found = asyncio.run(discover([("Ollama", ollama), ("llama.cpp", other), ("vLLM", port)], timeout_s=2.0))
    assert found == (
        Found("Ollama", f"http://127.0.0.1:{ollama}/v1", ("llama3:8b",)),
        Found("vLLM", f"http://127.0.0.1:{port}/v1", ("a", "b")),
    )


def test_a_silent_port_costs_no_more_than_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        started = time.monotonic()
        ports = [("vLLM", silent.getsockname()[1]), ("llama.cpp", closed.getsockname()[1])]
        assert asyncio.run(discover(ports, timeout_s=0.1)) == ()
    assert time.monotonic() - started < 1.0
