"""What a text is checked against: the index, or files that are indexed for this one run and then forgotten."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from veridical.errors import ConfigError, InputRefused
from veridical.types import Filter, Json, Passage

if TYPE_CHECKING:
    from veridical.blocking import Engine
    from veridical.cli.running import Run
    from veridical.index.records import Listed
    from veridical.ingest import Report

_SHORTEST_NAME = 3  # characters: a document called "a" would be found in every reference


@contextmanager
def opened(run: Run, sources: Sequence[str], flags: Mapping[str, Json]) -> Iterator[tuple[Engine, Report | None]]:
    """The engine to check with; its index is a temporary one when sources are named, and gone afterwards.

    Nothing is reranked: that is for questions. Raises InputRefused when not one of the sources could be read.
    """
    flags = {**flags, "search.rerank": 0}
    if not sources:
        with run.engine(flags) as engine:
            yield engine, None
        return
    if run.common.index is not None:
        raise ConfigError("--sources and --index together", fix="check against one of them")
    from veridical.cli.progress import ingest_progress

    with TemporaryDirectory(prefix="veridical-") as folder, run.engine({**flags, "index": folder}) as engine:
        with ingest_progress(run.view) as on_progress:
            report = engine.add(*sources, on_progress=on_progress)
        if not report.added:
            first = report.refused[0] if report.refused else None
            why = f": {first.uri} {first.reason}" if first else ""
            raise InputRefused(f"no source could be read{why}", fix=first.fix if first else "name other files")
        yield engine, report


def listed_order(sources: Sequence[str]) -> dict[int, str]:
    """Number → address when every source is a single file or page, so that [n] can only mean the n-th of them."""
    if any("://" not in source and Path(source).is_dir() for source in sources):
        return {}
    return {
        number: source if "://" in source else Path(source).absolute().as_posix()
        for number, source in enumerate(sources, 1)
    }


class Names:
    """Finds the documents that a line of a reference list names: by address, by file name, by title."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._keys: dict[str, set[str]] | None = None

    def find(self, reference: str) -> str | None:
        """The address of the one document named; None when there is none, or several fit equally well."""
        said = f" {' '.join(reference.casefold().split())} "
        fitting: dict[str, set[str]] = {
            key: addresses
            for key, addresses in self._known().items()
            if key in said and re.search(rf"(?<!\w){re.escape(key)}(?!\w)", said)
        }
        longest = max(fitting, key=len, default="")
        addresses = fitting.get(longest, set())
        return next(iter(addresses)) if len(addresses) == 1 else None

    def _known(self) -> dict[str, set[str]]:
        if self._keys is None:
            self._keys = {}
            for document in self._engine.documents():
                for key in _names(document):
                    if len(key) >= _SHORTEST_NAME:
                        self._keys.setdefault(key, set()).add(address(document.uri))
        return self._keys


def _names(document: Listed) -> Iterable[str]:
    place = address(document.uri)
    names = (place, place.rpartition("/")[2], document.title, _below_here(place))
    return {" ".join(name.casefold().split()) for name in names}


def _below_here(place: str) -> str:
    try:
        return Path(place).relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return place


def address(uri: str) -> str:
    """Where a document lies: parts of a long file and rows of a table have a name of their own behind a #."""
    return uri.rpartition("#")[0] or uri if "://" not in uri else uri


def search_within(engine: Engine, queries: Sequence[str], place: str, k: int) -> Sequence[Sequence[Passage]]:
    """The best passages of one document for each query."""
    return engine.search_many(queries, k, Filter(path=glob.escape(place)))
