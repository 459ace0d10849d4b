"""What all tests share: golden files, and no network beyond this machine."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

LOOPBACK = ("127.", "::1", "localhost")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files; review them as a diff")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(Path(__file__).parent / "golden", bool(request.config.getoption("--update-golden")))


class Golden:
    """Compares text with a committed file, or rewrites the file when asked to."""

    def __init__(self, folder: Path, update: bool) -> None:
        self._folder = folder
        self._update = update

    def check(self, name: str, text: str) -> None:
        file = self._folder / name
        if self._update:
            file.write_text(text, encoding="utf-8")
        assert file.is_file(), f"there is no {file.name}: run pytest --update-golden and review the diff"
        assert text == file.read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reaches out to the world fails. (Weights are pulled by a process of their own, from the registry.)"""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else ""
        if self.family in (socket.AF_INET, socket.AF_INET6) and not str(host).startswith(LOOPBACK):
            raise AssertionError(f"a test tried to reach {host}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)
