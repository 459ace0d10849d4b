"""Readers: one small module a format, each turning bytes into documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TypeAlias, cast

from veridical.corpus.formats import Format, known_format, sniff_format
from veridical.corpus.read.origin import Origin
from veridical.corpus.source import ReadOptions, Source
from veridical.errors import InputRefused
from veridical.types import Document

Reader: TypeAlias = Callable[[Origin], Iterator[Document]]
_SNIFF_BYTES = 1024


def read(source: Source, options: ReadOptions, warn: Callable[[str], None] = lambda _: None) -> Iterator[Document]:
    """The documents of a source, at least one; long texts and record files are streamed.

    Raises InputRefused when the source cannot be read, WebUnavailable when a URL cannot be fetched.
    """
    if source.path is None and source.content is None:
        from veridical.corpus.web import fetch

        source = fetch(source.uri)
    try:
        origin = Origin(source, "", options, warn)
        fmt = known_format(source.uri, source.media_type.partition(";")[0].strip().lower()) or _sniff(origin)
        reader = cast("Reader", import_module(f"veridical.corpus.read.{fmt.reader}").read)
        yield from reader(Origin(source, fmt.media_type, options, warn))
    except PermissionError as error:
        raise InputRefused("may not be read by this user", fix="Change its permissions (chmod +r).") from error
    except FileNotFoundError as error:
        raise InputRefused("vanished before it was read", fix="Run the command again.") from error
    except OSError as error:
        raise InputRefused(
            f"cannot be read: {error.strerror or error}", fix="Check the disk, or copy the file elsewhere."
        ) from error


def _sniff(origin: Origin) -> Format:
    with origin.open() as handle:
        return sniff_format(handle.read(_SNIFF_BYTES))
