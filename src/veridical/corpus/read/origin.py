"""What a reader is given: a source, and the means to read it and to name the documents it yields."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, cast
from urllib.parse import unquote, urlsplit

from veridical.corpus.read.decode import clean
from veridical.corpus.source import ReadOptions, Source, document_id
from veridical.errors import InputRefused
from veridical.types import Document, Heading

_LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class Extract:
    """What a format gave: text, and whatever else it knew. What it did not know, the origin fills in."""

    text: str
    title: str = ""
    pages: tuple[int, ...] = ()
    headings: tuple[Heading, ...] = ()
    date: dt.date | None = None
    tags: tuple[str, ...] = ()
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Origin:
    """A source on its way to becoming documents. `warn` takes what the user should hear of but can live with."""

    source: Source
    media_type: str
    options: ReadOptions
    warn: Callable[[str], None]

    @property
    def name(self) -> str:
        """The file's name, or the last part of a URL's path."""
        uri = self.source.uri
        if "://" not in uri:
            return PurePosixPath(uri).name
        parts = urlsplit(uri)
        return PurePosixPath(unquote(parts.path)).name or parts.netloc

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem

    @property
    def size(self) -> int:
        return len(self.source.content) if self.source.content is not None else self.source.size

    @property
    def modified(self) -> dt.date | None:
        if not self.source.modified:
            return None
        return dt.datetime.fromtimestamp(self.source.modified, tz=dt.UTC).date()

    def content(self) -> bytes:
        """All bytes. Raises InputRefused when they are more than the options allow."""
        limit = self.options.max_file_bytes
        with self.open() as handle:
            content = handle.read(limit + 1)
        if len(content) > limit:
            raise InputRefused(
                f"larger than {limit / 1e6:,.0f} MB", fix="Split the file, or raise max_file_bytes in the settings."
            )
        return content

    def open(self) -> BinaryIO:
        if self.source.content is not None:
            return io.BytesIO(self.source.content)
        assert self.source.path is not None, "a URL is fetched before it is read"
        return cast("BinaryIO", self.source.path.open("rb"))

    def document(self, extract: Extract, part: str = "") -> Document:
        """A document of this source; `part` names a piece of it in the URI. Raises InputRefused without text."""
        if not extract.text.strip():
            raise InputRefused("holds no text", fix="Leave the file out, or check that it was saved with its content.")
        uri = f"{self.source.uri}#{part}" if part else self.source.uri
        return Document(
            id=document_id(uri),
            uri=uri,
            title=tidy_title(extract.title) or tidy_title(self.stem) or self.source.uri,
            text=extract.text,
            media_type=self.media_type,
            pages=extract.pages,
            headings=extract.headings,
            date=extract.date or self.modified,
            tags=tuple(dict.fromkeys((*self.options.tags, *extract.tags))),
            offset=extract.offset,
        )


def tidy_title(title: str) -> str:
    """One line of at most 200 characters."""
    return " ".join(clean(title).split())[:_LONGEST_TITLE].strip()


def parse_date(text: str) -> dt.date | None:
    """The date at the start of an ISO 8601 or PDF (`D:20240131…`) time stamp."""
    digits = text.strip().removeprefix("D:").replace("-", "").replace("/", "")[:8]
    if len(digits) < 8 or not digits.isdecimal():
        return None
    try:
        return dt.date(int(digits[:4]), int(digits[4:6]), int(digits[6:8]))
    except ValueError:
        return None
