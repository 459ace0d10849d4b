"""Folders that cannot be used, disks that fail, writers that are at work: each is told apart and named."""

from __future__ import annotations

import errno
import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unit.index_entries import entry, found, open_index
from veridical.errors import ConfigError, CorruptIndex, IndexBusy, StorageFull, VeridicalError
from veridical.index import Index, Writer, check
from veridical.index.faults import storage_faults
from veridical.index.store import Store
from veridical.models.fake import FakeEmbedder


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry("fox", "The fox lives in the wood."), entry("eel", "An eel lives in the river.")])
        writer.put([entry("owl", "The owl hunts at night.")])
        writer.delete_documents(["fox"])
    return tmp_path


# ── folders ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("create", [True, False])
def test_a_file_is_no_folder_for_an_index(tmp_path: Path, create: bool) -> None:
    (tmp_path / "kb").write_text("a note")
    with pytest.raises(ConfigError, match="is a file") as refusal:
        Index.open(tmp_path / "kb", create=create)
    assert "another folder" in refusal.value.fix


def test_nor_is_anything_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "kb").write_text("a note")
    with pytest.raises(ConfigError, match="cannot be the folder"):
        Index.open(tmp_path / "kb/deeper", create=True)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(code, "refused", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ConfigError, match="kb") as refusal:
        Index.open(tmp_path / "kb", create=True)
    assert "permission" in refusal.value.fix


READ_ONLY = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from unit.index_entries import entry, found, open_index
from veridical.errors import ConfigError
from veridical.index import Index
from veridical.models.fake import FakeEmbedder

folder = Path(sys.argv[1], "kb")
with open_index(folder) as index, index.writer() as writer:
    writer.put([entry("eel", "An eel lives in the river.")])
    found(index, "eel")
for path in [*folder.rglob("*"), folder]:
    path.chmod(0o555 if path.is_dir() else 0o444)
owner = os.getuid()
(folder.parent / "dark").mkdir(0)
if owner == 0:  # whom permissions do not stop
    os.setuid(65534)
with Index.open(folder, FakeEmbedder()) as index:
    print(found(index, "eel", mode="lexical"), found(index, "eel", mode="dense"), index.check())
    try:
        with index.writer():
            print("written")
    except ConfigError as error:
        print(error.fix)
for name in ("dark", "dark/kb", "kb/kb"):
    try:
        Index.open(folder.parent / name, create=True)
    except ConfigError as error:
        print(error.fix)
if os.getuid() == owner:  # else the one who started us cleans up
    for path in [folder, *folder.rglob("*"), folder.parent / "dark"]:
        path.chmod(0o755)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions of folders")
def test_a_folder_that_may_not_be_written_can_be_searched() -> None:
    with tempfile.TemporaryDirectory() as open_to_all:
        Path(open_to_all).chmod(0o755)
        command = [sys.executable, "-c", READ_ONLY, open_to_all, str(Path(__file__).parent.parent)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    answers, *rest = done.stdout.splitlines()
    assert answers == "['eel#0'] ['eel#0'] []", done.stderr
    assert [line.startswith("give this user permission") for line in rest] == [True] * 4


# ── what the libraries raise ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_FULL, StorageFull),
        (sqlite3.SQLITE_IOERR_WRITE, StorageFull),
        (sqlite3.SQLITE_IOERR_FSYNC, StorageFull),
        (sqlite3.SQLITE_IOERR_SHMSIZE, StorageFull),
        (sqlite3.SQLITE_IOERR_READ, CorruptIndex),
        (sqlite3.SQLITE_IOERR_SHORT_READ, CorruptIndex),
        (sqlite3.SQLITE_CORRUPT, CorruptIndex),
        (sqlite3.SQLITE_NOTADB, CorruptIndex),
        (sqlite3.SQLITE_CANTOPEN, ConfigError),
        (sqlite3.SQLITE_READONLY, ConfigError),
        (sqlite3.SQLITE_READONLY_DIRECTORY, ConfigError),
        (sqlite3.SQLITE_PERM, ConfigError),
        (sqlite3.SQLITE_BUSY, IndexBusy),
    ],
)
def test_what_sqlite_says_becomes_advice(tmp_path: Path, code: int, kind: type[VeridicalError]) -> None:
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorcode = code
    with pytest.raises(kind) as refusal, storage_faults(tmp_path):
        raise error
    assert refusal.value.fix


def test_a_fault_between_two_portions_becomes_advice_too(tmp_path: Path) -> None:
    class Failing:
        portions = 1

        def execute(self, *_: object) -> Failing:
            return self

        def fetchmany(self, _: int) -> list[tuple[int, ...]]:
            if not self.portions:
                error = sqlite3.DatabaseError("malformed")
                error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                raise error
            self.portions -= 1
            return [(1, 1, 1, 1)]

    connection: Any = Failing()
    with pytest.raises(CorruptIndex):
        list(Store(connection, tmp_path).vectors_since(0))


# ── the lock ─────────────────────────────────────────────────────────────────────────────────────


def test_a_writer_that_cannot_sign_lets_the_lock_go(filled: Path) -> None:
    (filled / "write.pid").unlink()
    (filled / "write.pid").mkdir()
    with open_index(filled) as index:
        failed = index.writer(wait_s=0)
        with pytest.raises(OSError, match="directory"):
            failed.__enter__()
        (filled / "write.pid").rmdir()
        with index.writer(wait_s=0) as writer:
            assert writer.delete_documents(["owl"]) == 1


# ── damaged vector files ─────────────────────────────────────────────────────────────────────────


def cut_state(state: Path) -> None:
    state.write_text(json.dumps({"dimensions": 32, "seq": 4}))


def kill_the_unknown(state: Path) -> None:
    known = json.loads(state.read_text())
    state.write_text(json.dumps({**known, "dead": 1}))
    np.asarray([10**6], "<i8").tofile(state.with_name(f"dead-{known['generation']}"))


@pytest.mark.parametrize("damage", [cut_state, kill_the_unknown])
def test_vector_files_that_contradict_themselves_are_made_again(filled: Path, damage: Any) -> None:
    (state,) = filled.glob("dense/*/state.json")
    damage(state)
    with open_index(filled) as index:
        assert found(index, "eel river", mode="dense")[0] == "eel#0"
        assert index.check() == []


@pytest.mark.parametrize("damage", [cut_state, kill_the_unknown])
def test_so_are_those_damaged_under_a_writer(filled: Path, damage: Any) -> None:
    with open_index(filled) as index, index.writer() as writer:
        writer.put([entry("newt", "A newt appears in the pond.")])
        (state,) = filled.glob("dense/*/state.json")
        damage(state)
        writer.put([entry("toad", "A toad sits in the mud.")])
        assert found(index, "newt pond", mode="dense")[0] == "newt#0"
        assert found(index, "toad mud", mode="dense")[0] == "toad#0"
        assert index.check() == []


# ── checking ─────────────────────────────────────────────────────────────────────────────────────


def test_a_check_reports_what_a_new_embedder_has_not_embedded(filled: Path) -> None:
    with open_index(filled, FakeEmbedder(dimensions=16)) as index:
        (problem,) = index.check()
    assert problem.what.startswith("2 passages have no vector")
    assert "veridical rebuild" in problem.fix


def test_a_check_beside_a_writer_blames_the_writer(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_PATIENCE_S", 0)
    with open_index(filled) as index, index.writer() as writer:
        with monkeypatch.context() as halfway:
            halfway.setattr(Writer, "_catch_up", lambda _: None)
            writer.put([entry("newt", "A newt appears in the pond.")])
        (problem,) = index.check()
        assert problem.what.startswith("a writer is active")
        assert "again" in problem.fix
        writer.delete_documents(["owl"])  # and the writer comes to what was left
        assert index.check() == []


@pytest.mark.slow
def test_checks_beside_a_busy_writer_find_no_false_problem(filled: Path) -> None:
    stop = threading.Event()

    def write(index: Index) -> None:
        with index.writer() as writer:
            for number in range(10_000):
                if stop.is_set():
                    return
                writer.put([entry(f"n{number % 7}", f"Newt number {number} sits on stone {number}.")])

    with open_index(filled) as index, Index.open(filled, FakeEmbedder()) as reader:
        writing = threading.Thread(target=write, args=(index,))
        writing.start()
        try:
            problems = [problem for _ in range(5) for problem in reader.check()]
        finally:
            stop.set()
            writing.join()
        assert {problem.what.partition(" (")[0] for problem in problems} <= {"a writer is active"}
        assert reader.check() == []
        with index.writer(wait_s=0):  # the check has let the lock go
            pass
