"""Many sources at once: in order, in bounded memory, each failure kept to its file."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from unit.corpus_files import source_of
from veridical.corpus import Parsed, ReadOptions, Refused, Source, fingerprint, parse, parse_all, team, url_source, walk
from veridical.corpus.fingerprint import chunker_fingerprint, fingerprint_bytes, reader_fingerprint
from veridical.corpus.read import plain
from veridical.errors import ConfigError
from veridical.types import Document

OPTIONS = ReadOptions()


def plant(root: Path, number: int) -> list[Path]:
    files = [root / f"{n:04}.txt" for n in range(number)]
    for n, file in enumerate(files):
        file.write_text(f"Stone number {n} was laid.\n")
    return files


def test_few_files_are_parsed_here_with_their_passages(tmp_path: Path) -> None:
    (file,) = plant(tmp_path, 1)
    (parsed,) = parse_all(walk([tmp_path]), OPTIONS, workers=2)
    assert isinstance(parsed, Parsed)
    assert parsed.source == source_of(file)
    assert parsed.fingerprint == fingerprint(file, OPTIONS)
    ((document, passages),) = parsed.documents
    assert [passage.text for passage in passages] == ["Stone number 0 was laid."]
    assert passages[0].id == f"{document.id}:0"
    assert (parsed.last, parsed.warnings) == (True, ())


def test_a_fingerprint_says_what_was_read_and_how(tmp_path: Path) -> None:
    one, two = plant(tmp_path, 2)
    marks = [fingerprint(one, OPTIONS), fingerprint(two, OPTIONS), fingerprint(one, ReadOptions(html="trafilatura"))]
    assert len(set(marks)) == 3
    assert fingerprint_bytes(one.read_bytes(), OPTIONS) == marks[0]
    assert [mark.startswith(reader_fingerprint(OPTIONS)) for mark in marks] == [True, True, False]
    assert chunker_fingerprint(OPTIONS) == chunker_fingerprint(ReadOptions(html="trafilatura"))


def test_one_broken_file_does_not_stop_the_rest(tmp_path: Path) -> None:
    plant(tmp_path, 2)
    (tmp_path / "0000.pdf").write_bytes(b"%PDF-1.4 nonsense")
    (tmp_path / "zoo.png").write_bytes(b"")
    kinds = [type(item).__name__ for item in parse_all(walk([tmp_path]), OPTIONS, workers=1)]
    assert kinds == ["Refused", "Parsed", "Parsed", "Refused"]


def test_a_reader_that_fails_unforeseen_costs_only_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, 2)
    original = parse.read

    def fail(source: Source, *rest: object) -> Iterator[Document]:
        if source.uri.endswith("0000.txt"):
            raise MemoryError
        if source.uri.endswith("0001.txt"):
            raise ZeroDivisionError("ouch")
        return original(source, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(parse, "read", fail)
    first, second = parse_all(walk([tmp_path]), OPTIONS, workers=1)
    assert isinstance(first, Refused)
    assert isinstance(second, Refused)
    assert "memory" in first.reason
    assert second.reason == "its reader failed: ZeroDivisionError: ouch"


def test_a_file_changed_while_read_is_read_again_and_then_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = plant(tmp_path, 1)
    original = parse.read
    reads = 0
    changes = 1

    def change(source: Source, *rest: object) -> Iterator[Document]:
        nonlocal reads
        reads += 1
        yield from original(source, *rest)  # type: ignore[arg-type]
        if reads <= changes:
            file.write_text("Something longer was written meanwhile " * reads)

    monkeypatch.setattr(parse, "read", change)
    (parsed,) = parse_all([source_of(file)], OPTIONS, workers=1)
    assert isinstance(parsed, Parsed)
    assert parsed.fingerprint == fingerprint(file, OPTIONS)
    assert parsed.documents[0][0].text.startswith("Something longer")
    reads, changes = 0, 2
    (refused,) = parse_all([source_of(file)], OPTIONS, workers=1)
    assert isinstance(refused, Refused)
    assert refused.reason == "changed while it was being read"


def test_a_file_that_vanished_is_refused(tmp_path: Path) -> None:
    (file,) = plant(tmp_path, 1)
    source = source_of(file)
    file.unlink()
    (refused,) = parse_all([source], OPTIONS, workers=1)
    assert isinstance(refused, Refused)
    assert refused.reason.startswith("vanished")


def test_many_records_come_in_batches_with_the_warnings_last(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text("\n".join(['{"text": "It rose."}'] * 1200 + ["broken"] * 30))
    batches = list(parse_all([source_of(file)], OPTIONS, workers=1))
    assert all(isinstance(batch, Parsed) for batch in batches)
    assert [batch.last for batch in batches if isinstance(batch, Parsed)] == [False, False, True]
    assert sum(len(batch.documents) for batch in batches if isinstance(batch, Parsed)) == 1200
    last = batches[-1]
    assert isinstance(last, Parsed)
    assert len(last.warnings) == 21
    assert last.warnings[-1] == "and 10 more"


def test_a_tokenizer_that_cannot_be_loaded_is_a_config_error(tmp_path: Path) -> None:
    plant(tmp_path, 1)
    with pytest.raises(ConfigError, match="tokenizer"):
        list(parse_all(walk([tmp_path]), ReadOptions(tokenizer=tmp_path / "none.json"), workers=1))


def test_the_embedders_tokenizer_counts_in_tokens(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    pieces = ["[UNK]", "stone", "wall", "##s", "##ing"]
    tokenizer = Tokenizer(models.WordPiece({piece: n for n, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.enable_truncation(4)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    file = tmp_path / "a.txt"
    file.write_text("Stones walling. " * 30)
    options = ReadOptions(chunk_tokens=10, tokenizer=tmp_path / "tokenizer.json")
    (parsed,) = parse_all([source_of(file)], options, workers=1)
    assert isinstance(parsed, Parsed)
    ((_, passages),) = parsed.documents
    # stone ##s wall ##ing . : five tokens a sentence, and truncation is off
    assert [passage.text for passage in passages] == ["Stones walling. Stones walling."] * 15


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "STREAM_BYTES", 50_000)
    monkeypatch.setattr(plain, "PART_CHARACTERS", 10_000)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("encoding", "edge"), [("utf-8", "\n\n"), ("utf-16", "\n\n"), ("utf-8", "\n"), ("utf-8", " "), ("utf-8", "")]
)
def test_a_long_text_is_streamed_in_parts_that_rejoin(tmp_path: Path, encoding: str, edge: str) -> None:
    file = tmp_path / "big.txt"
    text = edge.join([f"Zwölf{edge and ' '}Steine."] * 7000)
    file.write_bytes(text.encode(encoding))
    batches = list(parse_all([source_of(file)], OPTIONS, workers=1))
    documents = [document for batch in batches for document, _ in batch.documents]  # type: ignore[union-attr]
    assert "".join(document.text for document in documents) == text
    assert max(len(document.text) for document in documents) <= 10_000
    assert all(document.text.endswith(edge) for document in documents[:-1])
    assert [document.offset for document in documents[:2]] == [0, len(documents[0].text)]
    assert [document.uri for document in documents[:2]] == [file.as_posix(), f"{file.as_posix()}#part=2"]
    assert documents[1].title == "big.txt (part 2)"


@pytest.mark.usefixtures("small_parts")
def test_a_long_markdown_keeps_its_heading_path_from_part_to_part(tmp_path: Path) -> None:
    file = tmp_path / "big.md"
    file.write_text("# Book\n\n" + ("word " * 200 + "\n\n") * 80)
    documents = [document for batch in parse_all([source_of(file)], OPTIONS, 1) for document, _ in batch.documents]  # type: ignore[union-attr]
    assert len(documents) > 8
    assert {document.headings[0].path for document in documents} == {("Book",)}


@pytest.mark.slow
def test_ten_thousand_tiny_files_give_ten_thousand_documents(tmp_path: Path) -> None:
    files = plant(tmp_path, 10_000)
    items = parse_all(walk([tmp_path]), OPTIONS, workers=2)
    uris = [document.uri for item in items if isinstance(item, Parsed) for document, _ in item.documents]
    assert uris == [file.as_posix() for file in files]


@pytest.mark.slow
def test_a_text_of_forty_megabytes_needs_little_memory(tmp_path: Path) -> None:
    paragraph = "The wall rose by one stone a day, as the masons had been told to build it. " * 5 + "\n\n"
    (tmp_path / "big.txt").write_text(paragraph * 106_000)
    script = (
        "import resource, sys\nfrom pathlib import Path\nfrom veridical.corpus import *\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "read_small = list(parse_all(walk([Path(sys.argv[1])]), ReadOptions(), 1))\nbefore = peak()\n"
        "parts = sum(1 for _ in parse_all(walk([Path(sys.argv[2])]), ReadOptions(), 1))\n"
        "print(parts, peak() - before)"
    )
    (tmp_path / "small.txt").write_text(paragraph)
    command = [sys.executable, "-c", script, tmp_path / "small.txt", tmp_path / "big.txt"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    parts, grown = map(int, run.stdout.split())
    assert parts > 38
    assert grown < 60_000 * (1024 if sys.platform == "darwin" else 1)  # kilobytes, but bytes on a Mac


def test_a_url_that_cannot_be_reached_is_refused() -> None:
    (refused,) = parse_all([url_source("http://127.0.0.1:1/wall.html")], OPTIONS, workers=1)
    assert isinstance(refused, Refused)
    assert "cannot be fetched" in refused.reason


# ── worker processes ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_processes_give_the_same_in_the_same_order(tmp_path: Path) -> None:
    plant(tmp_path, 40)
    (tmp_path / "0007.txt").write_bytes(b"")
    (tmp_path / "0009.png").write_bytes(b"")
    (tmp_path / "0011.jsonl").write_text('{"text": "It rose."}\n' * 1200)
    page = Source("https://example.org/a.txt", content=b"It fell. " * 50_000)
    sources = [*walk([tmp_path]), page]
    alone = list(parse_all(sources, OPTIONS, workers=1))
    assert list(parse_all(sources, OPTIONS, workers=2)) == alone


@pytest.fixture
def saboteur(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A format library that, in the workers, dies or hangs on certain files; a folder of such files among good ones."""
    bad = tmp_path / "bad"
    (bad / "docx/opc").mkdir(parents=True)
    (bad / "docx/opc/exceptions.py").write_text("OpcError = ValueError\n")
    (bad / "docx/__init__.py").write_text(
        "import os, io, stat, time\n"
        "def _open(fd):\n"
        "    try: return stat.S_ISFIFO(os.fstat(fd).st_mode)\n"
        "    except OSError: return False\n"
        "class Document:\n"
        "    def __init__(self, file):\n"
        "        text = file.read()\n"
        "        if b'crash' in text: os.abort()\n"
        "        if b'babble' in text: [os.write(fd, b'babble') for fd in range(3, 9) if _open(fd)]\n"
        "        time.sleep(60)\n"
    )
    monkeypatch.setattr(sys, "path", [str(bad), *sys.path])
    files = tmp_path / "files"
    files.mkdir()
    plant(files, 20)
    return files


def docx_with(word: str) -> bytes:
    import io
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(word, word)
    return buffer.getvalue()


@pytest.mark.slow
def test_a_worker_that_dies_costs_one_file(saboteur: Path) -> None:
    for name in ("0003.docx", "0004.docx", "zz.docx"):
        (saboteur / name).write_bytes(docx_with("crash"))
    items = list(parse_all(walk([saboteur]), OPTIONS, workers=2))
    refused = [item for item in items if isinstance(item, Refused)]
    assert [Path(item.uri).name for item in refused] == ["0003.docx", "0004.docx", "zz.docx"]
    assert {item.reason for item in refused} == {"its reader crashed (SIGABRT)"}
    names = [Path(item.uri if isinstance(item, Refused) else item.documents[0][0].uri).name for item in items]
    assert names == sorted(names)
    assert len(items) == 23


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_single_file_that_kills_its_reader_does_not_kill_us(saboteur: Path, workers: int) -> None:
    (saboteur / "bad.docx").write_bytes(docx_with("crash"))
    (refused,) = parse_all(walk([saboteur / "bad.docx"]), OPTIONS, workers)
    assert isinstance(refused, Refused)
    assert refused.reason == "its reader crashed (SIGABRT)"


@pytest.mark.slow
def test_the_time_limit_holds_for_a_single_file(saboteur: Path) -> None:
    (saboteur / "bad.docx").write_bytes(docx_with("hang"))
    (refused,) = parse_all(walk([saboteur / "bad.docx"]), ReadOptions(timeout_s=1), workers=1)
    assert isinstance(refused, Refused)
    assert refused.reason == "took longer than 1 s"


@pytest.mark.slow
def test_content_in_memory_is_read_apart_too(saboteur: Path) -> None:
    content = docx_with("crash") + b"\0" * 200_000  # more than a pipe holds
    pages = [Source(f"https://example.org/{n}.docx", content=content) for n in range(2)]
    sources = [*walk([saboteur]), *pages, Source("https://example.org/end.txt", content=b"It fell.")]
    for workers in (1, 2):
        *_, one, two, end = parse_all(sources, OPTIONS, workers)
        assert [type(item) for item in (one, two, end)] == [Refused, Refused, Parsed]


@pytest.mark.slow
def test_a_reader_that_babbles_costs_one_file(saboteur: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "_LAST_WORDS_S", 0.2)
    (saboteur / "0003.docx").write_bytes(docx_with("babble"))
    items = list(parse_all(walk([saboteur]), OPTIONS, workers=2))
    (refused,) = [item for item in items if isinstance(item, Refused)]
    assert refused.reason == "its reader gave a garbled answer"
    assert len(items) == 21


@pytest.mark.slow
def test_closing_does_not_wait_for_a_reader_that_hangs(saboteur: Path) -> None:
    (saboteur / "bad.docx").write_bytes(docx_with("hang"))
    running = parse_all(walk([saboteur / "bad.docx"]), OPTIONS, workers=1)
    with ThreadPoolExecutor(1) as waiting:
        step = waiting.submit(next, running, None)
        time.sleep(1)
        begun = time.monotonic()
        running.close()
        assert step.result(timeout=5) is None
        assert time.monotonic() - begun < 5
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.slow
def test_a_team_that_cannot_be_completed_leaves_no_process_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, 20)
    start, started = subprocess.Popen, []

    def refuse_the_second(*arguments: object, **named: object) -> object:
        if started:
            raise BlockingIOError("no more processes")
        started.append(start(*arguments, **named))  # type: ignore[call-overload]
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", refuse_the_second)
    with pytest.raises(BlockingIOError):
        list(parse_all(walk([tmp_path]), OPTIONS, workers=2))
    assert started[0].returncode is not None


@pytest.mark.slow
def test_a_worker_that_hangs_costs_one_file(saboteur: Path) -> None:
    (saboteur / "0003.docx").write_bytes(docx_with("hang"))
    items = list(parse_all(walk([saboteur]), ReadOptions(timeout_s=2), workers=2))
    (refused,) = [item for item in items if isinstance(item, Refused)]
    assert refused.reason == "took longer than 2 s"
    assert len(items) == 21


@pytest.mark.slow
def test_wrong_options_stop_the_workers_too(tmp_path: Path) -> None:
    plant(tmp_path, 20)
    with pytest.raises(ConfigError, match="tokenizer"):
        list(parse_all(walk([tmp_path]), ReadOptions(tokenizer=tmp_path / "none.json"), workers=2))


@pytest.mark.slow
def test_a_script_without_a_main_guard_may_parse_in_processes(tmp_path: Path) -> None:
    plant(tmp_path, 20)
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\nfrom veridical.corpus import *\n"
        f"print(len(list(parse_all(walk([Path({str(tmp_path)!r})]), ReadOptions(), workers=2))))\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    assert (run.stdout, run.stderr) == ("21\n", "")


@pytest.mark.slow
def test_leaving_early_leaves_no_process_behind(tmp_path: Path) -> None:
    plant(tmp_path, 40)
    running = parse_all(walk([tmp_path]), OPTIONS, workers=2)
    assert isinstance(next(running), Parsed)
    running.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
