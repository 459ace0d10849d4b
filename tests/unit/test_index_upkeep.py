"""What an index does about lost files, other versions, full disks, and another embedder or chunker."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from unit.index_entries import entry, found, open_index
from veridical.errors import CorruptIndex, IndexMissing, StorageFull
from veridical.index import Index, Writer
from veridical.index.lexical import LexicalWriter
from veridical.models.fake import FakeEmbedder
from veridical.text.passages import searchable_text


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    with open_index(tmp_path, chunker_fingerprint="c1") as index, index.writer() as writer:
        writer.put([entry("fox", "The fox lives in the wood."), entry("eel", "An eel lives in the river.")])
        writer.put([entry("owl", "The owl hunts at night.")])
        writer.delete_documents(["fox"])
    return tmp_path


def assert_sound(folder: Path) -> None:
    with Index.open(folder, FakeEmbedder(), chunker_fingerprint="c1") as index:
        assert index.check() == []
        for mode in ("lexical", "dense"):
            assert found(index, "eel river", mode=mode)[0] == "eel#0"
            assert "fox#0" not in found(index, "fox wood", mode=mode)


def test_opening_nothing_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(IndexMissing) as refusal:
        Index.open(tmp_path / "none")
    assert "veridical add" in refusal.value.fix
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("lost", ["lexical", "dense", "lexical/state.json", "lexical/1", "lexical/1/meta.json"])
def test_lost_search_files_are_made_again(filled: Path, lost: str) -> None:
    path = filled / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert_sound(filled)


@pytest.mark.parametrize("pattern", ["lexical/state.json", "lexical/1/meta.json", "dense/*/state.json"])
def test_garbled_search_files_are_made_again(filled: Path, pattern: str) -> None:
    for file in filled.glob(pattern):
        file.write_bytes(b"\x00garbage")
    assert_sound(filled)


@pytest.mark.parametrize("pattern", ["dense/*/codes-*", "dense/*/slots-*", "lexical/1/*.idx", "lexical/1/*.term"])
def test_deleted_data_files_are_made_again(filled: Path, pattern: str) -> None:
    files = list(filled.glob(pattern))
    assert files
    for file in files:
        file.unlink()
    assert_sound(filled)


def test_without_its_database_an_index_is_refused(filled: Path) -> None:
    (filled / "veridical.db").unlink()
    for create in (False, True):
        with pytest.raises(CorruptIndex) as refusal:
            Index.open(filled, FakeEmbedder(), create=create)
        assert "veridical add" in refusal.value.fix


def test_a_garbled_database_is_refused(filled: Path) -> None:
    for extra in filled.glob("veridical.db-*"):
        extra.unlink()
    (filled / "veridical.db").write_bytes(b"not a database at all" * 500)
    with pytest.raises(CorruptIndex, match=r"veridical\.db") as refusal:
        Index.open(filled, FakeEmbedder())
    assert refusal.value.fix


def test_somebody_elses_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "veridical.db") as connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()
    with pytest.raises(CorruptIndex, match="not a veridical index"):
        Index.open(tmp_path, create=True)


@pytest.mark.parametrize(("version", "advice"), [(99, "upgrade"), (0, "veridical add")])
def test_other_formats_are_refused_with_advice(filled: Path, version: int, advice: str) -> None:
    connection = sqlite3.connect(filled / "veridical.db")
    connection.execute(f"PRAGMA user_version={version}")
    connection.close()
    with pytest.raises(CorruptIndex) as refusal:
        Index.open(filled, FakeEmbedder())
    assert advice in refusal.value.fix


def test_an_older_copy_of_the_database_wins_over_newer_search_files(
    filled: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    saved = tmp_path_factory.mktemp("saved") / "veridical.db"
    source, target = sqlite3.connect(filled / "veridical.db"), sqlite3.connect(saved)
    source.backup(target)
    source.close()
    target.close()
    with open_index(filled, chunker_fingerprint="c1") as index, index.writer() as writer:
        writer.put([entry("new", "A newt appears.")])
    for extra in filled.glob("veridical.db*"):
        extra.unlink()
    shutil.copy(saved, filled / "veridical.db")
    assert_sound(filled)


@pytest.mark.parametrize("derived", ["lexical", "dense"])
def test_a_writer_that_dies_before_the_derived_indexes_is_made_good(
    filled: Path, derived: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken, open_index(filled, chunker_fingerprint="c1") as index:
        target = (
            "veridical.index.lexical.LexicalWriter.apply"
            if derived == "lexical"
            else "veridical.index.dense.ScanWriter.apply"
        )

        def die(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        broken.setattr(target, die)
        with pytest.raises(KeyboardInterrupt), index.writer() as writer:
            writer.put([entry("newt", "A newt appears in the pond.")])
    with open_index(filled) as index:
        for mode in ("lexical", "dense"):
            assert found(index, "newt pond", mode=mode)[0] == "newt#0"
        assert index.check() == []


def test_a_commit_whose_note_was_lost_is_not_applied_twice(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken, open_index(filled) as index:

        def die(*_: object) -> None:
            raise KeyboardInterrupt

        broken.setattr("veridical.index.lexical.write_state", die)
        with pytest.raises(KeyboardInterrupt), index.writer() as writer:
            writer.put([entry("newt", "A newt appears in the pond.")])
    assert_sound(filled)


def test_a_full_disk_rolls_back_and_says_so(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_index(filled) as index, index.writer() as writer:
        pages = writer._store.one("PRAGMA page_count")
        writer._store.one(f"PRAGMA max_page_count={pages + 2}")
        with pytest.raises(StorageFull) as refusal:
            writer.put([entry(f"big{n}", f"Word {n}. " * 500) for n in range(20)])
        assert "again" in refusal.value.fix
        assert index.stats().documents == 2
        writer._store.one("PRAGMA max_page_count=1000000")
        writer.put([entry("newt", "A newt appears.")])
        assert found(index, "newt", mode="lexical") == ["newt#0"]
    assert_sound(filled)


def test_a_disk_that_fills_under_the_search_files_loses_nothing(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as full, open_index(filled) as index:

        def refuse(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        full.setattr("veridical.index.dense._write_at", refuse)
        with pytest.raises(StorageFull), index.writer() as writer:
            writer.put([entry("newt", "A newt appears.")])
        assert found(index, "eel", mode="lexical")[0] == "eel#0"
    assert_sound(filled)


def test_check_finds_what_is_wrong(filled: Path) -> None:
    connection = sqlite3.connect(filled / "veridical.db")
    connection.execute("UPDATE passages SET text = 'something else' WHERE id = 'eel#0'")
    connection.execute("DELETE FROM bands")
    connection.execute("UPDATE vectors SET half = zeroblob(64)")
    connection.commit()
    connection.close()
    lexical = LexicalWriter(filled / "lexical")
    lexical.apply([2], [], lexical.applied(), again=False)
    lexical.close()
    with Index.open(filled, FakeEmbedder()) as index:
        problems = index.check()
    assert all(problem.fix for problem in problems)
    text = " ".join(problem.what for problem in problems)
    for part in (
        "do not match their text (such as eel)",
        "near-duplicate links",
        "not of length one",
        "lacks 1 passages",
    ):
        assert part in text


def test_rebuild_repairs_everything_derived(filled: Path) -> None:
    connection = sqlite3.connect(filled / "veridical.db")
    connection.execute("DELETE FROM bands")
    connection.commit()
    connection.close()
    with open_index(filled) as index:
        assert index.check()
        index.rebuild()
        assert index.check() == []
    assert_sound(filled)


def embed_all(index: Index, writer: Writer, embedder: FakeEmbedder, batches: int) -> None:
    for _ in range(batches):
        todo = index.passages_without_vector(1)
        vectors = asyncio.run(embedder.embed([searchable_text(passage) for _, passage in todo]))
        writer.put_vectors([row for row, _ in todo], vectors)


def test_another_embedder_is_taken_up_where_it_stopped(filled: Path) -> None:
    other = FakeEmbedder(dimensions=16)
    with open_index(filled, other) as index:
        assert index.stale().passages_to_embed == 2
        assert found(index, "eel river", mode="lexical")[0] == "eel#0"
        assert found(index, "eel river", mode="dense") == []
        assert found(index, "eel river") == found(index, "eel river", mode="lexical")
        with index.writer() as writer:
            embed_all(index, writer, other, batches=1)
        assert index.stale().passages_to_embed == 1
    with open_index(filled, other) as index:  # stopped, and begun again
        with index.writer() as writer:
            embed_all(index, writer, other, batches=1)
        assert not index.stale().passages_to_embed
        assert index.passages_without_vector(5) == []
        assert found(index, "eel river", mode="dense")[0] == "eel#0"
        assert index.check() == []
    with open_index(filled, FakeEmbedder()) as index:  # and back: nothing of the first embedder is left
        assert index.stale().passages_to_embed == 2
        assert found(index, "eel river", mode="dense") == []


def test_opening_without_an_embedder_keeps_the_vectors(filled: Path) -> None:
    with Index.open(filled) as index:
        assert not index.stale()
        with index.writer() as writer:
            writer.delete_documents(["owl"])
        assert found(index, "eel", mode="hybrid") == ["eel#0"]
        assert index.check() == []
    assert_sound(filled)


def test_another_chunker_names_the_documents_to_cut_again(filled: Path) -> None:
    with open_index(filled, chunker_fingerprint="c2") as index:
        assert index.stale().documents_to_chunk == 2
        (source, first), *rest = index.documents_with_other_chunker(10)
        assert len(rest) == 1
        with index.writer() as writer:
            writer.put([entry(first.id, first.text, uri=first.uri, source=source)])
        assert [document.id for _, document in index.documents_with_other_chunker(10)] == [rest[0][1].id]


def test_dense_files_are_compacted(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry(f"n{n}", f"Passage number {n} about topic {n}.") for n in range(20)])
        before = index.stats().bytes_on_disk["dense"]
        writer.delete_documents([f"n{n}" for n in range(15)])
        assert index.stats().bytes_on_disk["dense"] < before / 2
        assert len(found(index, "passage topic", 30, mode="dense")) == 5
        assert index.check() == []


def test_vectors_that_are_not_numbers_are_refused(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        bad = entry("a", "One.")._replace(vectors=np.full((1, 32), np.nan, np.float32))
        with pytest.raises(ValueError, match="not a number"):
            writer.put([bad])
        assert index.documents() == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_files_that_may_not_grow_lose_nothing_acknowledged(tmp_path: Path) -> None:
    """A process that may write no file beyond a limit acknowledges some documents, then is told the disk is full."""
    code = (
        "import resource, sys\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from unit.index_entries import entry, open_index\n"
        "from veridical.errors import StorageFull\n"
        "index = open_index(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, 700_000))\n"
        "try:\n"
        "    with index.writer() as writer:\n"
        "        for n in range(1000):\n"
        "            writer.put([entry(f'd{n}', f'Unique{n} ' + f'filler{n} ' * 3000)])\n"
        "            print(f'd{n}', flush=True)\n"
        "except StorageFull as error:\n"
        "    print('full', error.fix)\n"
    )
    tests = str(Path(__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), tests], capture_output=True, text=True, check=False
    )
    *acknowledged, last = done.stdout.splitlines()
    assert last.startswith("full free some space"), done.stderr
    assert acknowledged
    with open_index(tmp_path) as index:
        assert index.check() == []
        assert set(acknowledged) <= {document.id for document in index.documents()}
        for name in acknowledged:
            assert found(index, f"Unique{name[1:]}", mode="lexical") == [f"{name}#0"]
