"""Ingestion: 5,000 real passages through the whole engine, and 1,000 more into a full and into an empty index."""

from __future__ import annotations

import asyncio
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from benchmarks import built, corpus
from benchmarks.datasets import Setup
from benchmarks.report import AT_MOST, Figure, Section
from benchmarks.timing import cpu_with_children_s
from veridical.corpus import chunker_fingerprint
from veridical.engine import Engine
from veridical.index.library import Index
from veridical.ingest import Ingest, Report
from veridical.models.embed import MiniLm
from veridical.ports import Vectors
from veridical.settings import Settings
from veridical.types import Document

_PARAGRAPHS = 7  # of Wikipedia a file
_PEP_AFTER = 40  # such files
_PEP_STEP = 20  # so that old and new ones are among them
_ROUNDS = 3


class _Timed(MiniLm):
    """The shipped embedder, which also knows how much CPU it has used. Nothing else runs while it embeds."""

    spent_s = 0.0
    texts = 0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        began = time.process_time()
        vectors = await super().embed(texts)
        self.spent_s += time.process_time() - began
        self.texts += len(texts)
        return vectors


class _Given(MiniLm):
    """Random vectors, made beforehand: what is left is our own work."""

    def __init__(self) -> None:
        super().__init__()
        self._vectors = built.clustered(256, seed=3)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return self._vectors[: len(texts)]


def run(setup: Setup) -> Section:
    folder = setup.scratch / "ingest"
    shutil.rmtree(folder, ignore_errors=True)
    wanted, more = (300, 100) if setup.quick else (5_000, 1_000)
    whole = _add_all(folder, wanted)
    growth = _add_more(setup, folder, more)
    shutil.rmtree(folder)
    return Section(
        name="ingest",
        title="Ingestion",
        page="engine",
        how="`Engine.add` on text files of real passages (Wikipedia paragraphs, PEPs), everything included: walking, "
        "parsing in worker processes, cutting, embedding, near-duplicates, SQLite, both search indexes. CPU time of "
        "all processes.",
        figures=(*whole, *growth),
        notes=(
            "Our own part is all CPU time but that spent while the embedder was embedding, which tokenizes too.",
            f"Growth: {more:,} passages as text files, vectors ready-made, into both; medians of {_ROUNDS} rounds.",
        ),
    )


def _add_all(folder: Path, wanted: int) -> list[Figure]:
    files = folder / "files"
    _write(files, _files(), wanted)
    embedder = _Timed()
    engine = Engine(Settings(index=str(folder / "index")))
    engine.embedder = embedder
    began, wall = cpu_with_children_s(), time.perf_counter()
    report = asyncio.run(_add(engine, files))
    cpu_s, wall_s = cpu_with_children_s() - began, time.perf_counter() - wall
    own_ms = (cpu_s - embedder.spent_s) / report.passages * 1e3
    share = embedder.spent_s / cpu_s
    note = f"{report.passages:,} passages of {report.added:,} files, {len(report.refused)} refused"
    return [
        Figure("passages a CPU-second", report.passages / cpu_s, "", note=note),
        Figure("passages a second, wall clock", report.passages / wall_s),
        Figure("the embedder", embedder.spent_s / embedder.texts * 1e3, "ms CPU a passage", note=f"{share:.1%} of all"),
        Figure("our own overhead", own_ms, "ms CPU a passage", AT_MOST, 2),
    ]


async def _add(engine: Engine, files: Path) -> Report:
    async with engine:
        return await engine.add(files)


def _add_more(setup: Setup, folder: Path, more: int) -> list[Figure]:
    passages = corpus.build(setup)
    original, _ = built.build(setup, passages)
    full = folder / "full"
    shutil.copytree(original, full)
    groups = _files(skip=1_000)
    spent: dict[str, list[float]] = {"empty": [], "full": []}
    for turn in range(_ROUNDS):
        files = folder / f"more-{turn}"
        added = _write(files, groups, more)
        pair = [("empty", folder / f"empty-{turn}"), ("full", full)]
        for name, index in pair if turn % 2 else reversed(pair):
            spent[name].append(_add_given(index, files) / added * 1e3)
    empty, filled = statistics.median(spent["empty"]), statistics.median(spent["full"])
    ratios = [b / a for a, b in zip(spent["empty"], spent["full"], strict=True)]
    return [
        Figure(f"adding {more:,} to an empty index", empty, "ms CPU a passage"),
        Figure(f"adding {more:,} to {passages.size:,}", filled, "ms CPU a passage"),
        Figure("full / empty", filled / empty, "×", AT_MOST, 1.2, "rounds: " + ", ".join(map("{:.2f}".format, ratios))),
    ]


def _add_given(folder: Path, files: Path) -> float:
    """CPU seconds of adding files with ready-made vectors, in this process alone."""
    options, embedder = built.read_options(), _Given()
    with Index.open(folder, embedder, chunker_fingerprint=chunker_fingerprint(options), create=True) as index:
        began = cpu_with_children_s()
        asyncio.run(Ingest(index, embedder, options, workers=1).add([files]))
        return cpu_with_children_s() - began


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def _files(skip: int = 0) -> Iterator[str]:
    """The text of one file after another: mostly a few Wikipedia paragraphs, now and then a PEP."""
    wiki = (document for document in corpus.documents() if document.id.startswith("wiki/"))
    peps = (document for document in corpus.documents() if document.id.startswith("pep/"))
    spaced = islice(peps, skip // 100, None, _PEP_STEP)
    paragraphs = islice(wiki, skip * _PARAGRAPHS, None)
    place = 0
    while group := list(islice(paragraphs, _PARAGRAPHS)):
        yield "\n\n".join(f"{document.title}\n\n{document.text}" for document in group)
        place += 1
        if place % _PEP_AFTER == 0 and (pep := next(spaced, None)) is not None:
            yield pep.text


def _write(folder: Path, texts: Iterator[str], wanted: int) -> int:
    """Writes files until they hold at least the wanted number of passages; how many they hold."""
    folder.mkdir(parents=True)
    count, passages = corpus.counter(), 0
    for number, text in enumerate(texts):
        (folder / f"{number:05}.txt").write_text(text, "utf-8")
        passages += len(corpus.cut(Document("", "", "", text), count))
        if passages >= wanted:
            break
    return passages
