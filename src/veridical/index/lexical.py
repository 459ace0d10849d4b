"""The derived BM25 index: tantivy over title (twice), heading path and text, lower-cased, folded and stemmed.

Folder: `state.json` names the generation and the last change applied; `<generation>/` is a tantivy index.
tantivy commits before the state is written, so the state never claims more than is there.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tantivy
from numpy.typing import NDArray

from veridical.errors import CorruptIndex
from veridical.index.faults import storage_faults
from veridical.index.records import storable
from veridical.index.state import read_state, write_state

ANALYZER = 1  # raise it when the analysis below changes: indexes made with another number are built anew
_MOST_TERMS = 64
# Left out of questions, not of the index: at 100,000 passages they cost three quarters of the time of a search, and
# without them nDCG@10 is the same (0.5747 against 0.5740, mean of the six collections of docs/results/retrieval.md).
STOP_WORDS = (
    "a all also an and any are as at be been being but by can could did do does for from had has have he how i if in"
    " into is it its may might no not of on or she should such than that the their then there these they this to was"
    " we were what when where which who whom whose why will with would you"
)
_SMALL_SET = 2_000  # documents a filter may allow and still be handed to tantivy as a term set
_HEAP_BYTES = 48_000_000

Hits = list[tuple[int, float]]  # (passage row, score), best first
Rows = Sequence[tuple[int, int, str, str, str]]  # as Store.passages_since yields them


def make_analyzer() -> Any:
    filters = tantivy.Filter
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for step in (filters.remove_long(60), filters.lowercase(), filters.ascii_fold(), filters.stemmer("english")):
        builder = builder.filter(step)
    return builder.build()


def make_schema() -> Any:
    # Signed keys: deleting by a term of an unsigned field silently deletes nothing in tantivy-py.
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("row", indexed=True, fast=True)
    builder.add_integer_field("document", indexed=True, fast=True)
    builder.add_text_field("body", tokenizer_name="veridical", index_option="freq")
    return builder.build()


def body_of(title: str, heading: Iterable[str], text: str) -> str:
    """The indexed text of a passage. The title counts twice.

    nDCG@10, once → twice: HotpotQA .790 → .800, DBpedia .381 → .394, Cranfield .369 → .373, SciFact .720 → .719.
    """
    return "\n".join((title, title, *heading, text))


class Lexical:
    """Searches the newest committed state; `refresh` moves to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._analyzer = make_analyzer()
        self._stop_terms = frozenset(self._analyzer.analyze(STOP_WORDS))
        self._generation = -1
        self._index: Any = None
        self._searcher: Any = None
        self._schema: Any = None
        self._links: tempfile.TemporaryDirectory[str] | None = None

    def refresh(self) -> int:
        """The last change it follows; -1 when there is no readable index, and it must be built."""
        state = read_state(self._folder)
        if not state or state.get("analyzer") != ANALYZER:
            return -1
        try:
            if state["generation"] != self._generation or self._index is None or self._links:
                self._index = open_generation(self._writable(state["generation"]), self._analyzer)
                self._schema = self._index.schema
                self._generation = state["generation"]
            self._index.reload()
            self._searcher = self._index.searcher()
            return state["seq"]
        except (ValueError, OSError, KeyError):  # segments or entries missing or unreadable
            self._index = None
            return -1

    def close(self) -> None:
        if self._links:
            self._links.cleanup()
            self._links = None

    def _writable(self, generation: int) -> Path:
        """A generation's folder; where it may not be written, a folder of links to its files.

        tantivy takes a lock, which is a file beside the others, even to read.
        """
        folder = self._folder / str(generation)
        self.close()
        if os.access(folder, os.W_OK) or not folder.is_dir():
            return folder
        self._links = tempfile.TemporaryDirectory(prefix="veridical-")
        for file in folder.iterdir():
            if not file.name.endswith(".lock"):
                Path(self._links.name, file.name).symlink_to(file.absolute())
        return Path(self._links.name)

    def search(self, query: str, k: int, allowed: NDArray[np.int64] | None = None) -> Hits:
        """At most k hits, best first, only in documents whose key is allowed."""
        searcher, schema = self._searcher, self._schema
        terms = self._terms(searcher, query)
        if searcher is None or not terms or k < 1 or (allowed is not None and not len(allowed)):
            return []
        clauses = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "body", term, "freq")) for term in terms]
        try:
            return self._search(tantivy.Query.boolean_query(clauses), k, allowed)
        except BaseException as error:
            # Over bytes that make no sense tantivy raises ValueError or panics, which Python sees as a BaseException.
            if not isinstance(error, ValueError) and type(error).__name__ != "PanicException":
                raise
            raise CorruptIndex(f"the lexical index is damaged: {error}", fix="run `veridical rebuild`") from error

    def _search(self, wanted: Any, k: int, allowed: NDArray[np.int64] | None) -> Hits:
        searcher, schema = self._searcher, self._schema
        if allowed is None:
            return _hits(searcher, wanted, k)
        if len(allowed) <= _SMALL_SET:
            inside = tantivy.Query.term_set_query(schema, "document", allowed.tolist())
            must = [(tantivy.Occur.Must, wanted), (tantivy.Occur.Must, tantivy.Query.const_score_query(inside, 0.0))]
            return _hits(searcher, tantivy.Query.boolean_query(must), k)
        return _filtered_hits(searcher, wanted, k, allowed)

    def _terms(self, searcher: Any, query: str) -> list[str]:
        """The distinct terms of a question that carry meaning; of a very long one the rarest, which decide anyway."""
        everything = dict.fromkeys(self._analyzer.analyze(storable(query)))
        terms = [term for term in everything if term not in self._stop_terms] or list(everything)
        if len(terms) <= _MOST_TERMS or searcher is None:
            return terms
        counted = [(searcher.doc_freq("body", term), term) for term in terms]
        return [term for count, term in sorted(counted) if count][:_MOST_TERMS]

    def rows(self) -> list[int]:
        """Every passage row in the index, in no order; for checking."""
        found = self._searcher.search(tantivy.Query.all_query(), max(self._searcher.num_docs, 1), count=False)
        return list(self._searcher.fast_field_values("row", [address for _, address in found.hits]))


def open_generation(folder: Path, analyzer: Any) -> Any:
    index = tantivy.Index.open(str(folder))
    index.register_tokenizer("veridical", analyzer)
    index.config_reader("manual")  # no watcher thread: a search asks the store whether anything changed
    return index


def _hits(searcher: Any, query: Any, k: int) -> Hits:
    hits = searcher.search(query, k, count=False).hits
    rows = searcher.fast_field_values("row", [address for _, address in hits])
    return [(row, score) for row, (score, _) in zip(rows, hits, strict=True)]


def _filtered_hits(searcher: Any, query: Any, k: int, allowed: NDArray[np.int64]) -> Hits:
    """Fetches more and more hits until k of them are allowed or there are no more."""
    limit = max(4 * k, 200)
    while True:
        hits = searcher.search(query, limit, count=False).hits
        addresses = [address for _, address in hits]
        documents = np.asarray(searcher.fast_field_values("document", addresses), np.int64)
        inside = np.flatnonzero(_contains(allowed, documents))
        if len(inside) >= k or len(hits) < limit:
            inside = inside[:k]
            rows = searcher.fast_field_values("row", [addresses[place] for place in inside])
            return [(row, hits[place][0]) for row, place in zip(rows, inside, strict=True)]
        limit *= 4


def _contains(ordered: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.bool_]:
    places = np.searchsorted(ordered, values).clip(max=len(ordered) - 1)
    found: NDArray[np.bool_] = ordered[places] == values
    return found


class LexicalWriter:
    """Applies changes of the store. Only the holder of the write lock may have one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._analyzer = make_analyzer()
        self._writer: Any = None

    def applied(self) -> int:
        """The last change applied; -1 when the index must be built anew."""
        reader = Lexical(self._folder)
        try:
            return reader.refresh()
        finally:
            reader.close()

    def apply(self, removed: Sequence[int], added: Iterable[Rows], seq: int, *, again: bool) -> None:
        """One commit. `again`: some of `added` may be there already, from a commit whose state was not noted."""
        state = read_state(self._folder)
        with storage_faults(self._folder):
            try:
                if self._writer is None:
                    self._writer = self._open(self._folder / str(state["generation"]))
                self._change(removed, added, again=again)
                self._writer.commit()
            except BaseException:
                self._writer = None  # what it holds half done dies with it; the change is replayed later
                raise
            write_state(self._folder, {**state, "seq": seq})

    def rebuild(self, added: Iterable[Rows], seq: int) -> None:
        """Builds the next generation beside the present one, then switches to it."""
        self.close()
        present = read_state(self._folder).get("generation", 0)
        generation = 1 + max([present, *(int(old.name) for old in self._folder.glob("[0-9]*"))])
        folder = self._folder / str(generation)
        with storage_faults(self._folder):
            folder.mkdir(parents=True)
            tantivy.Index(make_schema(), path=str(folder))
            self._writer = self._open(folder)
            self._change((), added, again=False)
            self._writer.commit()
            write_state(self._folder, {"generation": generation, "seq": seq, "analyzer": ANALYZER})
        for old in self._folder.glob("[0-9]*"):
            if old != folder:
                shutil.rmtree(
                    old, ignore_errors=True
                )  # a reader on Windows may still hold it; the next rebuild retries

    def close(self) -> None:
        """Lets running merges end, so that many small additions do not leave many small segments."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None

    def _open(self, folder: Path) -> Any:
        return open_generation(folder, self._analyzer).writer(heap_size=_HEAP_BYTES, num_threads=1)

    def _change(self, removed: Sequence[int], added: Iterable[Rows], *, again: bool) -> None:
        for row in removed:
            self._writer.delete_documents_by_term("row", row)
        for rows in added:
            for row, document, title, heading, text in rows:
                if again:
                    self._writer.delete_documents_by_term("row", row)
                entry = tantivy.Document()
                entry.add_integer("row", row)
                entry.add_integer("document", document)
                entry.add_text("body", body_of(title, json.loads(heading), text))
                self._writer.add_document(entry)
