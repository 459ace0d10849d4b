"""What every store promises, asked of the SQLite store through its writer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from unit.index_entries import document, entry, open_index
from veridical.index import Index, Writer
from veridical.index.schema import connect
from veridical.index.store import Store as SqliteStore
from veridical.ports import Store


class StoreSuite:
    """A subclass gives `store`, and `put` and `delete`, which change what it reads."""

    def put(self, name: str, text: str) -> None:
        raise NotImplementedError

    def delete(self, names: Sequence[str]) -> None:
        raise NotImplementedError

    def test_an_empty_store_has_nothing(self, store: Store) -> None:
        assert store.document("eel") is None
        assert list(store.passages(["eel#0"])) == []
        assert list(store.removed_since(0)) == []

    def test_every_change_has_a_higher_number(self, store: Store) -> None:
        numbers = [store.seq()]
        for change in (
            lambda: self.put("eel", "Long."),
            lambda: self.put("eel", "Thin."),
            lambda: self.delete(["eel"]),
        ):
            change()
            numbers.append(store.seq())
        assert numbers == sorted(set(numbers))
        assert store.seq() == numbers[-1]

    def test_a_document_is_whole(self, store: Store) -> None:
        text = "An eel ☂.\n\nIt is long."
        self.put("eel", text)
        assert store.document("eel") == document("eel", text)
        assert store.document("fox") is None

    def test_passages_come_in_the_order_asked(self, store: Store) -> None:
        self.put("eel", "One.\n\nTwo.\n\nThree.")
        found = store.passages(["eel#2", "gone#0", "eel#0"])
        assert [(passage.id, passage.text) for passage in found] == [("eel#2", "Three."), ("eel#0", "One.")]
        assert all(passage.span.of("One.\n\nTwo.\n\nThree.") == passage.text for passage in found)

    def test_more_passages_than_a_statement_takes(self, store: Store) -> None:
        self.put("eel", "\n\n".join(f"Part {number}." for number in range(1200)))
        wanted = [f"eel#{number}" for number in reversed(range(1200))]
        assert [passage.id for passage in store.passages(wanted)] == wanted

    def test_a_replaced_document_has_only_its_new_passages(self, store: Store) -> None:
        self.put("eel", "One.\n\nTwo.")
        self.put("eel", "Three.")
        assert [passage.text for passage in store.passages(["eel#0", "eel#1"])] == ["Three."]

    def test_removed_rows_are_told_since_a_change(self, store: Store) -> None:
        self.put("eel", "One.\n\nTwo.")
        self.put("fox", "Red.")
        before = store.seq()
        assert list(store.removed_since(before)) == []
        self.delete(["eel"])
        between = store.seq()
        self.put("fox", "Grey.")
        everything, later = store.removed_since(before), store.removed_since(between)
        assert (len(everything), len(later)) == (3, 1)
        assert set(later) < set(everything)

    def test_a_row_that_was_removed_never_comes_back(self, store: Store) -> None:
        self.put("eel", "One.")
        self.delete(["eel"])
        self.put("eel", "One.")
        self.delete(["eel"])
        rows = list(store.removed_since(0))
        assert len(rows) == len(set(rows)) == 2


class TestSqlite(StoreSuite):
    writer: Writer

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[Index]:
        with open_index(tmp_path) as index, index.writer() as self.writer:
            yield index

    @pytest.fixture
    def store(self, index: Index) -> Iterator[Store]:
        # A connection of its own, as a reader process has.
        store = SqliteStore(connect(index.folder), index.folder)
        yield store
        store.close()

    def put(self, name: str, text: str) -> None:
        self.writer.put([entry(name, text)])

    def delete(self, names: Sequence[str]) -> None:
        self.writer.delete_documents(names)
