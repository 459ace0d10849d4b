"""Adding, replacing and deleting: what is visible, to whom, and what a second writer is told."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unit.index_entries import entry, found, hits, open_index
from veridical.errors import IndexBusy, InputRefused
from veridical.index import COMPLETE, PARTIAL, Index, SourceRow
from veridical.index.records import content_hash
from veridical.types import Filter, Heading, Span


def test_a_put_is_searchable_by_word_and_by_vector_at_once(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry("fox", "The fox lives in the wood."), entry("eel", "An eel lives in the river.")])
        for mode in ("lexical", "dense", "hybrid"):
            assert found(index, "eel in a river", mode=mode)[0] == "eel#0"


def test_a_document_comes_back_whole(tmp_path: Path) -> None:
    put = entry(
        "report",
        "First page ☂.\n\nSecond page.",
        title="Report",
        pages=(0, 15),
        headings=(Heading(0, ("Report", "Start")),),
        tags=("b", "a"),
        offset=7,
    )
    with open_index(tmp_path) as index:
        with index.writer() as writer:
            writer.put([put])
        assert index.document("report") == put.document
        assert index.document("other") is None
        assert index.passages(["report#1", "gone", "report#0"]) == [put.passages[1], put.passages[0]]
        assert index.passages(["report#1"])[0].span.of(put.document.text) == "Second page."


def test_replacing_a_document_hides_its_old_text(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry("a", "Walruses sleep.\n\nSeals swim.")])
        writer.put([entry("a", "Penguins walk.")])
        for mode in ("lexical", "dense", "hybrid"):
            assert found(index, "penguins walruses seals", mode=mode) == ["a#0"]
        assert index.passages(["a#1"]) == []
        assert index.check() == []


def test_a_deleted_document_is_gone_from_every_search(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry("a", "Walruses sleep."), entry("b", "Walruses eat.")])
        assert writer.delete_documents(["a", "never there"]) == 1
        for mode in ("lexical", "dense", "hybrid"):
            assert found(index, "walruses sleep", mode=mode) == ["b#0"]


def test_finishing_a_source_deletes_what_was_not_seen_again(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        rows = [entry(name, f"Record {name} of the table.", source="/kb/t.csv") for name in ("one", "two", "three")]
        writer.begin_source("/kb/t.csv")
        writer.put(rows, [SourceRow("/kb/t.csv", "v1", 10, 1.5, warnings=("row 9 is empty",))])
        kept = index.source("/kb/t.csv")
        assert kept is not None
        assert (kept.fingerprint, kept.size, kept.modified, kept.status) == ("v1", 10, 1.5, COMPLETE)
        assert kept.warnings == ("row 9 is empty",)
        assert kept.added_at

        every = ["one", "two", "three", "four"]
        hashes = index.document_hashes("/kb/t.csv", every)
        assert hashes == {row.document.id: content_hash(row.document) for row in rows}
        assert set(index.document_hashes("/kb/t.csv", ["two", "four"])) == {"two"}
        assert index.document_hashes("/kb/other.csv", every) == {}
        writer.begin_source("/kb/t.csv")
        writer.keep("/kb/t.csv", ["one"])
        writer.put([entry("two", "Record two, changed.", source="/kb/t.csv")])
        assert set(index.document_hashes("/kb/t.csv", every)) == {"one", "two", "three"}
        writer.finish_source(SourceRow("/kb/t.csv", "v2"))
        assert set(index.document_hashes("/kb/t.csv", every)) == {"one", "two"}
        assert found(index, "record three", mode="lexical")[0] != "three#0"


def test_a_source_is_partial_until_it_is_finished(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry("a", "One.", source="s")], [SourceRow("s", "v1")])
        writer.begin_source("s")
        writer.put([entry("b", "Two.", source="s")])
        row = index.source("s")
        assert row is not None
        assert (row.status, row.fingerprint) == (PARTIAL, "")
        assert index.stats().partial_sources == 1


def test_a_source_that_lost_a_document_is_read_again(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        entries = [entry("a", "One.", source="s"), entry("b", "Two.", source="s"), entry("c", "Three.", source="t")]
        writer.put(entries, [SourceRow("s", "v1"), SourceRow("t", "v1")])
        writer.delete_documents(["a"])
        assert [(row.status, row.fingerprint) for row in index.sources()] == [(PARTIAL, ""), (COMPLETE, "v1")]


def test_tags_of_a_source_are_replaced_for_every_reader(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, Index.open(tmp_path) as reader, index.writer() as writer:
        one, two = (entry(name, f"The eel {name}.", source="s", tags=("sea", name)) for name in ("one", "two"))
        writer.put([one, two, entry("other", "Another eel.", tags=("lake",))])
        assert index.tags("s") == ("sea", "one", "two")
        assert index.tags("nowhere") == ()
        writer.set_tags("s", ["river", "old", "river"])
        assert index.tags("s") == ("river", "old")
        assert sorted(found(reader, "eel", where=Filter(tags=("river",)), mode="lexical")) == ["one#0", "two#0"]
        assert found(reader, "eel", where=Filter(tags=("sea",)), mode="lexical") == []
        assert found(reader, "eel", where=Filter(tags=("lake",)), mode="lexical") == ["other#0"]
        # A file that is read again with these tags has not changed.
        tagged = replace(one.document, tags=("river", "old"))
        assert index.document("one") == tagged
        assert index.document_hashes("s", ["one"]) == {"one": content_hash(tagged)}
        writer.set_tags("s", ())
        assert index.tags("s") == ()
        assert index.check() == []


def test_deleting_a_source_takes_its_documents_along(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry("a", "One.", source="s"), entry("b", "Two.", source="t")])
        assert writer.delete_sources(["s", "unknown"]) == 1
        assert [row.uri for row in index.sources()] == ["t"]
        assert [document.id for document in index.documents()] == ["b"]


def test_a_refused_batch_leaves_nothing_behind(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry("a", "Walruses sleep.")])
        thief = entry("b", "Stolen.")._replace(passages=entry("a", "Stolen.").passages)
        with pytest.raises(InputRefused, match="a#0"):
            writer.put([entry("c", "Seals swim."), thief])
        assert [document.id for document in index.documents()] == ["a"]
        with pytest.raises(ValueError, match="shape"):
            writer.put([entry("d", "Short.")._replace(vectors=np.ones((1, 3), np.float32))])
        writer.put([entry("c", "Seals swim.")])
        assert found(index, "seals", mode="lexical") == ["c#0"]
        assert index.check() == []


def test_vectors_are_reused_for_equal_text(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer() as writer:
        old = entry("a", "Kept paragraph.\n\nOld paragraph.")
        writer.put([old])
        new = entry("b", "Kept paragraph.\n\nNew paragraph.")
        known = index.known_vectors(new.passages)
        assert list(known) == ["b#0"]
        assert old.vectors is not None
        np.testing.assert_allclose(known["b#0"], old.vectors[0], atol=1e-3)


def test_a_second_writer_is_told_who_writes(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.writer(), Index.open(tmp_path) as other:
        with pytest.raises(IndexBusy, match=str(os.getpid())) as refusal, other.writer(wait_s=0.1):
            pass
        assert refusal.value.fix


def test_a_second_writer_waits_its_turn(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        with index.writer() as writer:
            writer.put([entry("a", "One.")])
        with index.writer(wait_s=0) as writer:
            writer.put([entry("b", "Two.")])
        assert found(index, "two", mode="lexical") == ["b#0"]


def test_another_process_sees_commits_at_once(tmp_path: Path) -> None:
    """A reader process is asked after each put and each delete, and must answer from the newest state."""
    code = (
        "import asyncio, sys\n"
        "from veridical.index import Index, SearchOptions\n"
        "from veridical.models.fake import FakeEmbedder\n"
        "index = Index.open(sys.argv[1], FakeEmbedder())\n"
        "for line in sys.stdin:\n"
        "    for mode, end in (('lexical', ' '), ('dense', '\\n')):\n"
        "        options = SearchOptions(mode=mode)\n"
        "        print(len(asyncio.run(index.search([line], 5, None, options))[0]), end=end, flush=True)\n"
    )
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry("zero", "Nothing of interest.")])
        with subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as reader:
            assert reader.stdin
            assert reader.stdout

            def ask(question: str) -> str:
                reader.stdin.write(f"{question}\n")
                reader.stdin.flush()
                return reader.stdout.readline().strip()

            assert ask("walrus") == "0 1"
            for number in range(3):
                writer.put([entry(f"w{number}", f"Walrus number {number} sleeps on ice floe {number}.")])
                assert ask("walrus") == f"{number + 1} {number + 2}"
            writer.delete_documents(["w0"])
            assert ask("walrus") == "2 3"
            reader.stdin.close()
            assert reader.wait(10) == 0


def test_odd_characters_survive(tmp_path: Path) -> None:
    text = "Nul \x00, bell \x07, half a pair \ud83d, and 鯨 whale."
    with open_index(tmp_path) as index, index.writer() as writer:
        writer.put([entry("odd", text)])
        (hit,) = hits(index, "whale", mode="lexical")
        assert hit.span == Span(0, len(text))
        assert hit.text == text.replace("\ud83d", "?")
        assert index.check() == []


def test_stats_count_what_is_there(tmp_path: Path) -> None:
    with open_index(tmp_path, chunker_fingerprint="c1") as index:
        with index.writer() as writer:
            writer.put([entry("a", "One.\n\nTwo."), entry("b", "Three.")])
        stats = index.stats()
        assert (stats.sources, stats.documents, stats.passages, stats.vectors, stats.duplicates) == (2, 2, 3, 3, 0)
        assert (stats.embedder, stats.chunker) == ("fake-32", "c1")
        assert all(stats.bytes_on_disk[part] > 0 for part in ("store", "lexical", "dense"))
