"""Which files a path means: sorted, without what .gitignore ignores, safe against loops."""

# ruff: noqa: SIM905 (long word lists read best as words)
from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.corpus.formats import known_format
from veridical.corpus.source import Refused, Source
from veridical.errors import InputRefused

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_SKIPPED_FOLDERS = frozenset(
    ".git .hg .svn .venv venv node_modules __pycache__ .tox .nox .mypy_cache .ruff_cache .pytest_cache".split()
)
_SKIPPED_FILES = frozenset({".DS_Store", "Thumbs.db", ".gitignore", ".gitattributes", ".gitkeep"})


def walk(paths: Sequence[Path], skip: Collection[Path] = ()) -> Iterator[Source | Refused]:
    """The files below `paths` in order of name, each once; a file named outright is taken whatever ignores it.

    Linked folders come last, and only those not reached otherwise. `skip` are folders to leave out (the index).
    Raises InputRefused at once when a path does not exist.
    """
    absolute = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 (resolve() would follow links)
    for path in absolute:
        if not os.path.lexists(path):
            raise InputRefused(f"{path} does not exist", fix="Check the spelling; relative paths start where you are.")
    return _Walk(frozenset(Path(os.path.abspath(folder)) for folder in skip)).all(absolute)  # noqa: PTH100


@dataclass(frozen=True, slots=True)
class _Rules:
    """The .gitignore files in force, outermost first, each with its folder as a prefix ending in a slash."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def ignores(self, path: str, *, folder: bool) -> bool:
        for prefix, spec in reversed(self.specs):  # the nearest file has the last word
            verdict = spec.check_file(path.removeprefix(prefix) + "/" * folder).include
            if verdict is not None:
                return verdict
        return False

    def below(self, folder: str) -> _Rules:
        """These rules and those of the folder's own .gitignore. One that cannot be read has none."""
        try:
            with Path(folder, ".gitignore").open(encoding="utf-8", errors="replace") as handle:
                lines = handle.read().splitlines()
        except OSError:
            return self
        from pathspec import GitIgnoreSpec

        return _Rules((*self.specs, (folder.rstrip("/") + "/", GitIgnoreSpec.from_lines(lines))))


@dataclass(slots=True)
class _Walk:
    skip: frozenset[Path]
    seen_folders: set[tuple[int, int]] = field(default_factory=set)
    seen_files: set[str] = field(default_factory=set)
    linked: list[tuple[str, _Rules]] = field(default_factory=list)

    def all(self, paths: Sequence[Path]) -> Iterator[Source | Refused]:
        for path in paths:
            try:
                is_folder = stat.S_ISDIR(path.stat().st_mode)
            except OSError:
                is_folder = False  # the file branch reports what is wrong
            if is_folder:
                yield from self._folder(str(path), _rules_above(path))
            else:
                yield from self._file(str(path))
        # Linked folders wait until the real tree is walked, so that a file keeps its own path where it has one.
        while self.linked:
            folder, rules = self.linked.pop(0)
            yield from self._folder(folder, rules)

    def _folder(self, root: str, above: _Rules) -> Iterator[Source | Refused]:
        waiting = [(root, above)]
        while waiting:
            folder, rules = waiting.pop()
            try:
                facts = os.stat(folder)  # noqa: PTH116 (strings: a Path a file costs more than the file)
                if (facts.st_dev, facts.st_ino) in self.seen_folders:
                    continue
                self.seen_folders.add((facts.st_dev, facts.st_ino))
                with os.scandir(folder) as entries:
                    inside = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                yield Refused(_uri(folder), f"folder cannot be opened: {error.strerror}", "Change its permissions.")
                continue
            yield from self._entries(inside, rules.below(folder), waiting)

    def _entries(
        self, inside: Sequence[os.DirEntry[str]], rules: _Rules, waiting: list[tuple[str, _Rules]]
    ) -> Iterator[Source | Refused]:
        """Yields the files of a folder; its folders go to `waiting`, last name first, or to the linked ones."""
        folders: list[tuple[str, _Rules]] = []
        for entry in inside:
            if _is_folder(entry):
                skipped = entry.name in _SKIPPED_FOLDERS or Path(entry.path) in self.skip
                if not skipped and not rules.ignores(entry.path, folder=True):
                    (self.linked if entry.is_symlink() else folders).append((entry.path, rules))
            elif entry.name not in _SKIPPED_FILES and not rules.ignores(entry.path, folder=False):
                yield from self._file(entry.path)
        waiting.extend(reversed(folders))

    def _file(self, path: str) -> Iterator[Source | Refused]:
        if path in self.seen_files:
            return
        self.seen_files.add(path)
        uri = _uri(path)
        try:
            facts = os.stat(path)  # noqa: PTH116
        except OSError as error:
            link = os.path.islink(path)  # noqa: PTH114
            yield Refused(
                uri, "is a link that leads nowhere" if link else f"cannot be read: {error.strerror}", "Remove it."
            )
            return
        if not stat.S_ISREG(facts.st_mode):
            yield Refused(uri, "is no regular file", "Leave it out.")
            return
        try:
            known_format(uri)
        except InputRefused as error:
            yield Refused.because(uri, error)
            return
        yield Source(uri, Path(path), facts.st_size, facts.st_mtime)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself: the file branch reports it
        return False


def _rules_above(folder: Path) -> _Rules:
    """The .gitignore files from the repository's root down to the folder; none where they ignore the folder itself."""
    root = next((parent for parent in folder.parents if (parent / ".git").exists()), None)
    if root is None or (folder / ".git").exists():
        return _Rules()
    rules = _Rules()
    for parent in [*reversed(folder.parents), folder]:
        if parent == folder or parent.is_relative_to(root):
            if parent != root and rules.ignores(str(parent), folder=True):
                return _Rules()
            if parent != folder:
                rules = rules.below(str(parent))
    return rules


def _uri(path: str) -> str:
    """The path as a URI's text; bytes of a name that are no UTF-8 are written out, so that names stay apart."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return text.replace("\\", "/") if os.sep == "\\" else text
