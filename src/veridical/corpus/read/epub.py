"""EPUB: a zip of XHTML chapters, read in the order of its spine."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from veridical.corpus.read.archive import open_archive, refusing_damage
from veridical.corpus.read.decode import decode
from veridical.corpus.read.html import add_html, parse_html
from veridical.corpus.read.layout import Layout
from veridical.corpus.read.origin import Extract, Origin, parse_date
from veridical.errors import InputRefused
from veridical.types import Document

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTAINER = "META-INF/container.xml"


def read(origin: Origin) -> Iterator[Document]:
    with open_archive(origin.content()) as archive:
        if "META-INF/encryption.xml" in archive.namelist() and "META-INF/rights.xml" in archive.namelist():
            raise InputRefused("is protected by DRM", fix="Add a copy without DRM.")
        package_path = _package_path(archive)
        package = _xml(archive, package_path)
        layout = Layout()
        for chapter in _spine(package, posixpath.dirname(package_path)):
            _add_chapter(layout, archive, chapter, origin)
    yield origin.document(
        Extract(
            layout.text,
            _fact(package, "title"),
            headings=tuple(layout.headings),
            date=parse_date(_fact(package, "date")),
        )
    )


def _add_chapter(layout: Layout, archive: zipfile.ZipFile, path: str, origin: Origin) -> None:
    try:
        with refusing_damage("EPUB"):
            content = archive.read(path)
    except InputRefused:  # one chapter lost is a warning, not the end of the book
        origin.warn(f"chapter {path} is missing or damaged")
        return
    root = parse_html(decode(content)) if content.strip() else None
    if root is None:
        return
    has_heading = bool(root.xpath("//h1|//h2|//h3|//h4|//h5|//h6"))
    name = " ".join((root.findtext(".//title") or "").split())
    if not has_heading and name and root.text_content().strip() != name:
        layout.section(1, name)
    add_html(layout, root)


def _package_path(archive: zipfile.ZipFile) -> str:
    for file in _xml(archive, _CONTAINER).iterfind(".//{*}rootfile"):
        return file.get("full-path", "")
    raise InputRefused("is not an EPUB: it names no package", fix="Fetch a fresh copy.")


def _xml(archive: zipfile.ZipFile, path: str) -> _Element:
    from lxml.etree import XMLParser, fromstring

    with refusing_damage("EPUB"):
        return fromstring(archive.read(path), parser=XMLParser(resolve_entities=False, no_network=True))


def _spine(package: _Element, folder: str) -> Iterator[str]:
    paths = {
        item.get("id"): posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
        for item in package.iterfind("{*}manifest/{*}item")
        if item.get("properties") != "nav"
    }
    for entry in package.iterfind("{*}spine/{*}itemref"):
        if entry.get("idref") in paths:
            yield paths[entry.get("idref")]


def _fact(package: _Element, name: str) -> str:
    return package.findtext(f"{{*}}metadata/{{*}}{name}") or ""
