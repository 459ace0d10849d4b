"""What was ever added, with its tags: so that `sync` needs no arguments and a changed file keeps its tags."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

NOTE = "roots"  # where the index keeps them


@dataclass(frozen=True, slots=True)
class Root:
    """A file, folder or URL that someone named; `beir` when it was added as a BEIR corpus."""

    name: str
    tags: tuple[str, ...] = ()
    beir: bool = False

    @property
    def is_url(self) -> bool:
        return is_url(self.name)

    def holds(self, uri: str) -> bool:
        return uri == self.name or uri.startswith(self.name.rstrip("/") + "/")


class Roots:
    """The roots by name, in the order they were first added."""

    def __init__(self, roots: Iterable[Root]) -> None:
        self._by_name = {root.name: root for root in roots}

    @classmethod
    def read(cls, note: str) -> Roots:
        return cls(Root(row["name"], tuple(row["tags"]), row["beir"]) for row in json.loads(note or "[]"))

    def __str__(self) -> str:
        return json.dumps([asdict(root) for root in self._by_name.values()])

    def __iter__(self) -> Iterator[Root]:
        return iter(self._by_name.values())

    def get(self, name: str | Path) -> Root:
        """The root of that name as it was added, or as a new one."""
        root = as_root(name)
        return self._by_name.get(root.name, root)

    def with_added(self, names: Sequence[str | Path], tags: Sequence[str] = (), *, beir: bool = False) -> Roots:
        merged = dict(self._by_name)
        for root in map(as_root, names):
            known = merged.get(root.name, replace(root, beir=beir))
            merged[root.name] = replace(known, tags=tuple(dict.fromkeys([*known.tags, *tags])))
        return Roots(merged.values())

    def without(self, names: Sequence[str]) -> Roots:
        gone = [as_root(name) for name in names]
        return Roots(root for root in self._by_name.values() if not any(other.holds(root.name) for other in gone))

    def tags_of(self, uri: str) -> tuple[str, ...]:
        """The tags of every root that holds a source."""
        return tuple(dict.fromkeys(tag for root in self._by_name.values() if root.holds(uri) for tag in root.tags))


def as_root(name: str | Path) -> Root:
    text = str(name)
    # Not resolve(): a link is kept under the name it was added by.
    return Root(text if is_url(text) else os.path.abspath(text))  # noqa: PTH100


def is_url(name: str) -> bool:
    return name.startswith(("http://", "https://"))
