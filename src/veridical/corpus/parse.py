"""Sources in, documents with their passages out: in order, in bounded memory, a broken file not stopping the rest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from veridical.corpus.chunk import chunk
from veridical.corpus.fingerprint import fingerprint, fingerprint_bytes
from veridical.corpus.read import read
from veridical.corpus.source import ReadOptions, Refused, Source
from veridical.corpus.tokens import CountTokens
from veridical.errors import ConfigError, InputRefused, VeridicalError
from veridical.types import Document, Passage

_BATCH_CHARACTERS = 1_000_000
_BATCH_DOCUMENTS = 512
_MOST_WARNINGS = 20


@dataclass(frozen=True, slots=True)
class Parsed:
    """Documents of one source. A long source comes as several in a row, `last` set on the final one alone.

    When a Refused follows instead of the final one, the source broke in the middle: drop what came before.
    """

    source: Source
    fingerprint: str
    documents: tuple[tuple[Document, tuple[Passage, ...]], ...]
    last: bool = True
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Warnings:
    """The first few warnings about a source, and how many more there were."""

    kept: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, warning: str) -> None:
        if len(self.kept) < _MOST_WARNINGS:
            self.kept.append(warning)
        else:
            self.more += 1

    def all(self) -> tuple[str, ...]:
        return (*self.kept, f"and {self.more:,} more") if self.more else tuple(self.kept)


class _Changed(Exception):
    """The file was written to while it was read."""


def parse_source(source: Source, options: ReadOptions, count: CountTokens) -> Iterator[Parsed | Refused]:
    """One source; a file that changes while it is read is read once more, then refused."""
    for attempt in range(2):
        begun = False
        try:
            for parsed in _parse(source, options, count):
                yield parsed
                begun = True
        except _Changed:
            if begun or attempt:
                break
            continue
        except ConfigError:
            raise
        except VeridicalError as error:
            yield Refused.because(source.uri, error)
        except MemoryError:
            yield Refused(source.uri, "needs more memory than there is", "Split the file, or use a larger machine.")
        except Exception as error:  # noqa: BLE001 (a format library met a file it did not foresee: that file's problem)
            yield Refused(
                source.uri,
                f"its reader failed: {type(error).__name__}: {error}",
                "Save it again, or in another format.",
            )
        return
    yield Refused(source.uri, "changed while it was being read", "Add it again once nothing writes to it.")


def _parse(source: Source, options: ReadOptions, count: CountTokens) -> Iterator[Parsed]:
    if source.path is None and source.content is None:
        from veridical.corpus.web import fetch

        source = fetch(source.uri)
    source, mark = _look(source, options)
    warnings = _Warnings()
    # The content has served its purpose once it is parsed, and would only be copied between processes.
    named = replace(source, content=None)
    batch: list[tuple[Document, tuple[Passage, ...]]] = []
    characters = 0
    for document in read(source, options, warnings.add):
        if batch and (characters + len(document.text) > _BATCH_CHARACTERS or len(batch) >= _BATCH_DOCUMENTS):
            yield Parsed(named, mark, tuple(batch), last=False)
            batch, characters = [], 0
        batch.append((document, tuple(chunk(document, options.chunk_tokens, count, options.language))))
        characters += len(document.text)
    if source.path is not None and source.content is None and _state(source) != (source.size, source.modified):
        raise _Changed
    yield Parsed(named, mark, tuple(batch), warnings=warnings.all())


def _look(source: Source, options: ReadOptions) -> tuple[Source, str]:
    """The source as it is now, and its fingerprint. Raises InputRefused."""
    if source.content is not None:
        return source, fingerprint_bytes(source.content, options)
    assert source.path is not None
    try:
        size, modified = _state(source)
        return replace(source, size=size, modified=modified), fingerprint(source.path, options)
    except PermissionError as error:
        raise InputRefused("may not be read by this user", fix="Change its permissions (chmod +r).") from error
    except FileNotFoundError as error:
        raise InputRefused("vanished before it was read", fix="Run the command again.") from error
    except OSError as error:
        raise InputRefused(f"cannot be read: {error.strerror or error}", fix="Check the disk.") from error


def _state(source: Source) -> tuple[int, float]:
    assert source.path is not None
    facts = os.stat(source.path)  # noqa: PTH116 (follows links, as reading does)
    return facts.st_size, facts.st_mtime
