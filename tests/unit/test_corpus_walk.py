"""Which files a folder means."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from veridical.corpus import Refused, Source, walk
from veridical.errors import InputRefused


def plant(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("It rose.")


def found(root: Path, **options: object) -> list[str]:
    """The files walked, relative to the root, in order; nothing may be refused."""
    items = list(walk([root], **options))  # type: ignore[arg-type]
    assert all(isinstance(item, Source) for item in items)
    return [Path(item.uri).relative_to(root).as_posix() for item in items]


def test_files_come_sorted_folder_by_folder(tmp_path: Path) -> None:
    plant(tmp_path, "b.txt", "a.md", "c/z.txt", "c/a/x.txt", "d/e.txt")
    assert found(tmp_path) == ["a.md", "b.txt", "c/z.txt", "c/a/x.txt", "d/e.txt"]
    source = next(iter(walk([tmp_path])))
    assert isinstance(source, Source)
    assert (source.size, source.path) == (8, tmp_path / "a.md")
    assert source.modified == (tmp_path / "a.md").stat().st_mtime


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    assert list(walk([tmp_path])) == []


def test_a_missing_path_is_refused_before_anything_is_walked(tmp_path: Path) -> None:
    plant(tmp_path, "a.txt")
    with pytest.raises(InputRefused, match="does not exist"):
        walk([tmp_path, tmp_path / "nowhere"])


def test_a_file_named_twice_comes_once(tmp_path: Path) -> None:
    plant(tmp_path, "a.txt", "b.txt")
    assert len(list(walk([tmp_path / "a.txt", tmp_path, tmp_path]))) == 2


def test_nested_gitignores_have_their_say(tmp_path: Path) -> None:
    plant(tmp_path, "keep.txt", "x.log", "build/out.txt", "sub/x.log", "sub/keep.log", "sub/private/p.txt", "sub/n.txt")
    (tmp_path / ".gitignore").write_text("*.log\n/build/\n# a comment\n")
    (tmp_path / "sub/.gitignore").write_text("!keep.log\nprivate/\n")
    assert found(tmp_path) == ["keep.txt", "sub/keep.log", "sub/n.txt"]


def test_the_repository_above_has_its_say_too(tmp_path: Path) -> None:
    plant(tmp_path, ".git/HEAD", "docs/a.txt", "docs/tmp/b.txt", "tmp/c.txt")
    (tmp_path / ".gitignore").write_text("tmp/\n")
    assert found(tmp_path / "docs") == ["a.txt"]
    # What is named outright is meant, even if it is ignored.
    assert found(tmp_path / "tmp") == ["c.txt"]
    assert [item.uri for item in walk([tmp_path / "docs/tmp/b.txt"])] == [(tmp_path / "docs/tmp/b.txt").as_posix()]


def test_machine_folders_and_the_index_are_skipped(tmp_path: Path) -> None:
    plant(tmp_path, ".git/x.txt", ".venv/x.txt", "node_modules/x.txt", "a/__pycache__/x.txt", "kb/x.txt", "a/y.txt")
    assert found(tmp_path, skip=[tmp_path / "kb"]) == ["a/y.txt"]


def test_loops_of_links_end(tmp_path: Path) -> None:
    plant(tmp_path, "real/a.txt")
    (tmp_path / "real/back").symlink_to(tmp_path)
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    items = list(walk([tmp_path]))
    assert [item.uri for item in items if isinstance(item, Source)] == [(tmp_path / "real/a.txt").as_posix()]
    assert [item.reason for item in items if isinstance(item, Refused)] == ["is a link that leads nowhere"]


def test_a_linked_folder_elsewhere_is_followed_once(tmp_path: Path) -> None:
    plant(tmp_path, "outside/o.txt", "docs/a.txt")
    (tmp_path / "docs/1").symlink_to(tmp_path / "outside")
    (tmp_path / "docs/2").symlink_to(tmp_path / "outside")
    assert found(tmp_path / "docs") == ["a.txt", "1/o.txt"]


@pytest.mark.parametrize(
    ("name", "fix"), [("photo.PNG", "Nothing to do"), ("old.doc", "Save it as DOCX"), ("model.gguf", "Nothing to do")]
)
def test_types_that_are_not_read_are_reported(tmp_path: Path, name: str, fix: str) -> None:
    plant(tmp_path, name)
    (item,) = walk([tmp_path])
    assert isinstance(item, Refused)
    assert item.reason == f"unsupported type {Path(name).suffix.lower()}"
    assert item.fix.startswith(fix)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (item,) = walk([tmp_path])
    assert isinstance(item, Refused)
    assert item.reason == "is no regular file"


def test_a_folder_that_cannot_be_opened_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "closed/a.txt", "open/b.txt")
    scan = os.scandir

    def refuse(path: str) -> object:  # root may open any folder, so the refusal is played
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    refused, source = walk([tmp_path])
    assert isinstance(refused, Refused)
    assert refused.reason == "folder cannot be opened: Permission denied"
    assert source.uri.endswith("open/b.txt")


def test_a_name_that_is_no_text_still_has_a_uri(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    try:
        Path(os.fsdecode(name)).write_text("It rose.")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    (item,) = walk([tmp_path])
    assert item.uri.endswith("caf\\xe9.txt")
    item.uri.encode()


@pytest.mark.slow
def test_ten_thousand_tiny_files_are_walked_in_seconds(tmp_path: Path) -> None:
    for folder in range(100):
        (tmp_path / str(folder)).mkdir()
        for number in range(100):
            (tmp_path / str(folder) / f"{number}.txt").touch()
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    begun = time.process_time()
    assert sum(1 for _ in walk([tmp_path])) == 10_000
    assert time.process_time() - begun < 3
