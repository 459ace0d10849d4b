"""What the name of a file or a URL says about it."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import urlsplit


def suffix_of(uri: str) -> str:
    """The file suffix of a path or URL in lower case, without the dot; a URL's query does not count."""
    path = urlsplit(uri).path if "://" in uri else uri
    return PurePosixPath(path.replace("\\", "/")).suffix[1:].lower()
