"""A writer is killed at random moments, again and again, on one growing index: nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from veridical.index import Entry, Index, SearchOptions
from veridical.models.fake import FakeEmbedder
from veridical.types import Document, Passage, Span

KILLS = 60


class Ledger:
    """What the writers have acknowledged, in order."""

    def __init__(self) -> None:
        self.put: set[str] = set()
        self.deleted: set[str] = set()
        self.fate_unknown: set[str] = set()

    def note(self, line: str) -> None:
        verb, _, name = line.strip().partition(" ")
        if verb == "deleting":
            self.put.discard(name)
            self.fate_unknown.add(name)
        elif verb == "deleted":
            self.fate_unknown.discard(name)
            self.deleted.add(name)
        elif verb == "put":
            self.put.add(name)


def text_of(name: str) -> str:
    return f"Unique{name} tells of things that happened to {name} on the way, and of nothing else at all."


def make_entry(name: str, embedder: FakeEmbedder) -> Entry:
    text = text_of(name)
    passage = Passage(f"{name}#0", name, text, Span(0, len(text)))
    vectors = asyncio.run(embedder.embed([text]))
    return Entry(f"/kb/{name}", Document(name, f"/kb/{name}", "", text), [passage], vectors)


def write_for_ever(folder: str, run: str) -> None:
    """Puts three documents at a time and deletes an old one now and then, saying so only after the call returned."""
    embedder = FakeEmbedder(dimensions=256)
    rng = random.Random(run)
    mine: list[str] = []
    with Index.open(folder, embedder, create=True) as index, index.writer() as writer:
        print("ready", flush=True)
        for number in range(10_000):
            names = [f"r{run}n{number}x{place}" for place in range(3)]
            writer.put([make_entry(name, embedder) for name in names])
            print("\n".join(f"put {name}" for name in names), flush=True)
            mine += names
            if rng.random() < 0.3:
                victim = mine.pop(rng.randrange(len(mine)))
                print(f"deleting {victim}", flush=True)
                writer.delete_documents([victim])
                print(f"deleted {victim}", flush=True)


def nurse(folder: str) -> None:
    """Forks a writer for each line it reads: importing everything once makes a kill cost a tenth of a second."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            write_for_ever(folder, line.strip())
        print(f"child {child}", flush=True)
        os.waitpid(child, 0)
        print("died", flush=True)


class Nursery:
    def __init__(self, folder: Path) -> None:
        here = Path(__file__)
        code = (
            f"import sys; sys.path.insert(0, {str(here.parent)!r}); import {here.stem} as t; t.nurse({str(folder)!r})"
        )
        command = [sys.executable, "-c", code]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def kill_one(self, run: int, ledger: Ledger, rng: random.Random) -> None:
        """Kills a writer some milliseconds after some line of its own: a slow machine gets as far as a fast one."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{run}\n")
        self.process.stdin.flush()
        wanted, lines, pid, killer = rng.randrange(1, 16), 0, 0, None
        while not (line := self.process.stdout.readline()).endswith("died\n"):
            assert line, "the nursery has died"
            ledger.note(line)
            lines += not line.startswith("child")
            pid = int(line.split()[1]) if line.startswith("child") else pid
            if pid and lines >= wanted and killer is None:
                killer = threading.Timer(rng.uniform(0, 0.06), os.kill, [pid, signal.SIGKILL])
                killer.start()
        assert killer is not None, "a writer ended by itself"
        killer.join()

    def close(self) -> None:
        self.process.communicate()


def assert_nothing_lost(folder: Path, ledger: Ledger) -> None:
    embedder = FakeEmbedder(dimensions=256)
    with Index.open(folder, embedder) as index:
        assert index.check() == []
        stored = {document.id for document in index.documents()}
        assert ledger.put <= stored
        assert not ledger.deleted & stored
        for mode in ("lexical", "dense"):
            everything = asyncio.run(
                index.search(["things happened on the way"], 100_000, None, SearchOptions(mode=mode))
            )
            assert {hit.document_id for hit in everything[0]} == stored


def assert_each_is_found(folder: Path, ledger: Ledger, rng: random.Random) -> None:
    names = rng.sample(sorted(ledger.put), min(len(ledger.put), 150))
    gone = sorted(ledger.deleted)[:50]
    with Index.open(folder, FakeEmbedder(dimensions=256)) as index:
        by_words = asyncio.run(index.search([f"Unique{n}" for n in names], 1, None, SearchOptions(mode="lexical")))
        assert [answer[0].document_id for answer in by_words] == names
        by_vector = asyncio.run(index.search([text_of(n) for n in names], 1, None, SearchOptions(mode="dense")))
        # The fake embedder gives some pairs of names one vector, so it is the vector that must be there, not the name.
        assert min(answer[0].score for answer in by_vector) > 0.999
        answers = asyncio.run(index.search([f"Unique{n}" for n in gone], 1, None, SearchOptions(mode="lexical")))
        assert answers == [[] for _ in gone]


@pytest.mark.slow
def test_sixty_kills_lose_nothing(tmp_path: Path) -> None:
    rng = random.Random(time.time_ns())  # other moments every time: the more runs, the more of them are tried
    ledger = Ledger()
    nursery = Nursery(tmp_path)
    try:
        for run in range(KILLS):
            nursery.kill_one(run, ledger, rng)
            if run % 10 == 9:
                assert_nothing_lost(tmp_path, ledger)
    finally:
        nursery.close()
    assert len(ledger.put) > KILLS
    assert_each_is_found(tmp_path, ledger, rng)
