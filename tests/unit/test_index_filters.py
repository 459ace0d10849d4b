"""A filter lets through exactly the documents that a plain reading of its conditions lets through."""

from __future__ import annotations

import sqlite3
from datetime import date, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from unit.index_entries import entry, found, open_index
from veridical.index import edits
from veridical.index.neardup import Linker
from veridical.index.records import Entry
from veridical.index.schema import create_tables
from veridical.index.store import Store
from veridical.types import Document, Filter

NAMES = st.sampled_from(["a", "b", "ab", "a.md", "b.txt", "c[1].md", "ü.PDF"])
URIS = st.builds(
    lambda start, parts: start + "/".join(parts),
    st.sampled_from(["/", "https://x.org/", ""]),
    st.lists(NAMES, min_size=1, max_size=4),
)
DAYS = st.integers(0, 6).map(lambda n: date(2024, 1, 1) + timedelta(days=n))
TAGS = st.lists(st.sampled_from("xyz"), unique=True, max_size=3).map(tuple)
KINDS = st.sampled_from(["text/plain", "text/html", "application/pdf"])
FILTERS = st.builds(
    Filter,
    path=st.none()
    | URIS
    | st.sampled_from(["*.md", "a/*", "/a/*/b*", "?", "[!b]*", "*", "a/", "https://*.md", "*/ab/*"]),
    types=st.lists(st.sampled_from(["md", ".txt", "PDF", "text/html"]), max_size=2).map(tuple),
    after=st.none() | DAYS,
    before=st.none() | DAYS,
    tags=TAGS,
)
FACTS = st.tuples(URIS, KINDS, st.none() | DAYS, TAGS)


def path_matches(uri: str, path: str) -> bool:
    """Anchored at the start, or, for a relative path, behind any slash; a plain name also means all below it."""
    starts = [0]
    if not path.startswith("/") and "://" not in path:
        starts += [place + 1 for place, character in enumerate(uri) if character == "/"]
    if any(character in path for character in "*?["):
        return any(fnmatchcase(uri[start:], path) for start in starts)
    plain = path.rstrip("/")
    return any(uri[start:] == (plain or "/") or uri[start:].startswith(f"{plain}/") for start in starts)


def lets_through(where: Filter, facts: tuple[str, str, date | None, tuple[str, ...]]) -> bool:
    uri, kind, day, tags = facts
    suffix = uri.rpartition("/")[2].rpartition(".")[2].lower() if "." in uri.rpartition("/")[2].lstrip(".") else ""
    wanted = {each.lower().removeprefix(".") for each in where.types}
    return (
        (not where.path or path_matches(uri, where.path))
        and (not wanted or kind in wanted or suffix in wanted)
        and (where.after is None or (day is not None and day >= where.after))
        and (where.before is None or (day is not None and day <= where.before))
        and set(where.tags) <= set(tags)
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(FACTS, max_size=12), st.lists(FILTERS, min_size=1, max_size=5))
def test_sql_agrees_with_a_plain_reading(
    all_facts: list[tuple[str, str, date | None, tuple[str, ...]]], filters: list[Filter]
) -> None:
    connection = memory()
    edit = edits.Edit(connection, Linker(connection), 1, 0, "c")
    edits.mark_partial(edit, [uri for uri, *_ in all_facts])
    for number, (uri, kind, day, tags) in enumerate(all_facts, start=1):
        document = Document(f"d{number}", uri, "", "", kind, date=day, tags=tags)
        edits.put_entry(edit, Entry(uri, document, (), None))
    store = Store(connection, Path("memory"))
    for where in filters:
        expected = [number for number, facts in enumerate(all_facts, start=1) if lets_through(where, facts)]
        assert store.allowed(where).tolist() == expected
    store.close()


def test_a_row_of_a_table_lies_where_its_table_lies(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        row = entry("row", "An eel is long.", uri="/kb/sea/fish.csv#row=1", source="/kb/sea/fish.csv")
        writer.put([row, entry("note", "An eel is thin.", uri="/kb/sea/note.txt")])
        for where in (Filter(types=("csv",)), Filter(path="fish.csv"), Filter(path="*.csv")):
            assert found(index, "eel", where=where) == ["row#0"]
        assert found(index, "eel", where=Filter(path="/kb/sea/fish.csv#row=1")) == ["row#0"]


def memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    create_tables(connection)
    return connection
