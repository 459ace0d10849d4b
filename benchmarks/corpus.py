"""100,000 real passages in a fixed order, and 300 real questions.

Wikipedia paragraphs, news, the Python Enhancement Proposals; then the documentation that Python itself ships
(docstrings, `pydoc` topics); then what the operating system's packages ship under /usr/share/doc. All cut by
our own chunker. The last two depend on the machine, so every result names the digest of what it ran on.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import html
import json
import random
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.datasets import Setup, data_folder, records
from veridical.corpus import CHUNKER_VERSION, chunk
from veridical.corpus.tokens import CountTokens, open_counter
from veridical.models.embed import WEIGHTS
from veridical.types import Document, Heading, Passage, Span

CHUNK_TOKENS = 200
QUESTIONS = 300
_SEED = 20_251_115
_SYSTEM_DOCS = Path("/usr/share/doc")
_LARGEST_FILE = 400_000  # bytes; beyond it are generated references that would drown the rest
_TEXT_NAMES = re.compile(r"(?i)^(readme|news|faq|todo|notes|hacking|install|changes)|\.(txt|md|rst|html?)$")
_CHANGELOG = re.compile(r"(?i)^changelog")
_TAG = re.compile(r"<(script|style)\b.*?</\1>|<[^>]+>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Corpus:
    documents: tuple[tuple[Document, tuple[Passage, ...]], ...]
    digest: str  # of all passages in order
    origins: dict[str, int]  # passages by where they came from

    def passages(self) -> Iterator[Passage]:
        for _, passages in self.documents:
            yield from passages

    @property
    def size(self) -> int:
        return sum(len(passages) for _, passages in self.documents)

    @property
    def words(self) -> str:
        parts = ", ".join(f"{count:,} {origin}" for origin, count in self.origins.items())
        return f"{self.size:,} passages ({parts}; digest {self.digest})"


def build(setup: Setup) -> Corpus:
    """The first `setup.passages` passages; fewer, and the results say so, where the machine ships little."""
    file = setup.scratch / f"corpus-{setup.passages}-{CHUNKER_VERSION}-{CHUNK_TOKENS}.jsonl.gz"
    if not file.exists():
        _cut(file, setup.passages)
    return _read(file)


def questions(count: int = QUESTIONS) -> list[str]:
    """Real search questions (Natural Questions, open), drawn with a fixed seed."""
    every = [record["question"] for record in records(data_folder() / "qa_eval" / "nq_open_dev.jsonl.gz")]
    return random.Random(_SEED).sample(every, count)


# ── documents ────────────────────────────────────────────────────────────────────────────────────


def documents() -> Iterator[Document]:
    """All of them, in the order in which they are taken."""
    folder = data_folder() / "corpus"
    for origin, file in (("wiki", "wiki_paragraphs"), ("news", "news_chunks_multihoprag"), ("pep", "peps")):
        for record in records(folder / f"{file}.jsonl.gz"):
            yield _document(origin, str(record["id"]), str(record.get("title") or ""), str(record["text"]))
    yield from _python_documents()
    yield from _system_documents(_TEXT_NAMES)
    yield from _system_documents(_CHANGELOG)


def _document(origin: str, name: str, title: str, text: str, headings: tuple[Heading, ...] = ()) -> Document:
    return Document(f"{origin}/{name}", f"/{origin}/{name}", title, text, headings=headings)


def _python_documents() -> Iterator[Document]:
    library = Path(sysconfig.get_path("stdlib"))
    for file in sorted(library.rglob("*.py")):
        name = file.relative_to(library).as_posix()
        if not re.search(r"(^|/)(test|tests|idlelib|site-packages|lib2to3)/", name):
            parts = list(_docstrings(file))
            if parts:
                yield _with_headings("python", name, parts)
    from pydoc_data.topics import topics

    for name in sorted(topics):
        yield _document("python", f"topic-{name}", name, topics[name])


def _docstrings(file: Path) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", file.stem), text


def _with_headings(origin: str, name: str, parts: list[tuple[str, str]]) -> Document:
    text, headings = "", []
    for heading, body in parts:
        headings.append(Heading(len(text), (heading,)))
        text += f"{heading}\n{body}\n\n"
    return _document(origin, name, name, text, tuple(headings))


def _system_documents(wanted: re.Pattern[str]) -> Iterator[Document]:
    for file in sorted(_SYSTEM_DOCS.rglob("*")) if _SYSTEM_DOCS.is_dir() else []:
        bare = file.name.removesuffix(".gz")
        if not file.is_file() or file.is_symlink() or not wanted.search(bare):
            continue
        text = _file_text(file)
        if text:
            name = file.relative_to(_SYSTEM_DOCS).as_posix()
            yield _document("package", name, f"{file.parent.name}: {bare}", text)


def _file_text(file: Path) -> str:
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as stream:
            content = stream.read(_LARGEST_FILE + 1)
        text = content.decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError):
        return ""
    if len(content) > _LARGEST_FILE:
        return ""
    return html.unescape(_TAG.sub(" ", text)) if ".htm" in file.name else text


# ── passages ─────────────────────────────────────────────────────────────────────────────────────


def cut(document: Document, count: CountTokens) -> list[Passage]:
    return chunk(document, CHUNK_TOKENS, count)


def counter() -> CountTokens:
    return open_counter(WEIGHTS / "tokenizer.json")


def _cut(file: Path, wanted: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    count, left = counter(), wanted
    temporary = file.with_suffix(".part")
    with gzip.open(temporary, "wt", encoding="utf-8", compresslevel=1) as lines:
        for document in documents():
            passages = list(islice(cut(document, count), left))
            if passages:
                lines.write(json.dumps(_plain(document, passages)) + "\n")
            left -= len(passages)
            if not left:
                break
    temporary.replace(file)


def _plain(document: Document, passages: list[Passage]) -> list[object]:
    headings = [(heading.start, heading.path) for heading in document.headings]
    spans = [(*passage.span, passage.heading) for passage in passages]
    return [document.id, document.uri, document.title, document.text, headings, spans]


def _read(file: Path) -> Corpus:
    found, digest, origins = [], hashlib.blake2b(digest_size=6), dict[str, int]()
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            id_, uri, title, text, headings, spans = json.loads(line)
            document = Document(
                id_, uri, title, text, headings=tuple(Heading(start, tuple(path)) for start, path in headings)
            )
            passages = tuple(
                Passage(f"{id_}:{n}", id_, text[start:end], Span(start, end), title, uri, tuple(path))
                for n, (start, end, path) in enumerate(spans)
            )
            for passage in passages:
                digest.update(passage.text.encode())
            origin = id_.partition("/")[0]
            origins[origin] = origins.get(origin, 0) + len(passages)
            found.append((document, passages))
    return Corpus(tuple(found), digest.hexdigest(), origins)
