"""Which reader a file gets: by its suffix, by what a server called it, or by its first bytes."""

# ruff: noqa: SIM905 (long word lists read best as words)
from __future__ import annotations

from typing import NamedTuple

from veridical.errors import InputRefused
from veridical.text.paths import suffix_of


class Format(NamedTuple):
    """`reader` names a module of `veridical.corpus.read`."""

    reader: str
    media_type: str


_OFFICE = "application/vnd.openxmlformats-officedocument."
_BY_SUFFIX = {
    "pdf": Format("pdf", "application/pdf"),
    "docx": Format("docx", _OFFICE + "wordprocessingml.document"),
    "pptx": Format("pptx", _OFFICE + "presentationml.presentation"),
    "xlsx": Format("xlsx", _OFFICE + "spreadsheetml.sheet"),
    "xlsm": Format("xlsx", _OFFICE + "spreadsheetml.sheet"),
    "epub": Format("epub", "application/epub+zip"),
    "eml": Format("eml", "message/rfc822"),
    "html": Format("html", "text/html"),
    "htm": Format("html", "text/html"),
    "xhtml": Format("html", "application/xhtml+xml"),
    "md": Format("markdown", "text/markdown"),
    "markdown": Format("markdown", "text/markdown"),
    "mdx": Format("markdown", "text/markdown"),
    "csv": Format("records", "text/csv"),
    "tsv": Format("records", "text/tab-separated-values"),
    "jsonl": Format("records", "application/jsonl"),
    "ndjson": Format("records", "application/jsonl"),
    "json": Format("plain", "application/json"),
    "xml": Format("plain", "application/xml"),
    **{
        suffix: Format("plain", "text/plain")
        for suffix in "txt text log rst tex org adoc asciidoc ini cfg conf toml yaml yml srt vtt bib".split()
    },
    **{
        suffix: Format("code", f"text/x-{language}")
        for language, suffixes in {
            "python": "py pyi",
            "javascript": "js mjs cjs jsx",
            "typescript": "ts tsx",
            "c": "c h",
            "c++": "cc cpp cxx hh hpp",
            "csharp": "cs",
            "css": "css scss",
            "go": "go",
            "haskell": "hs",
            "java": "java",
            "julia": "jl",
            "kotlin": "kt kts",
            "lua": "lua",
            "perl": "pl pm",
            "php": "php",
            "r": "r",
            "ruby": "rb",
            "rust": "rs",
            "scala": "scala",
            "shell": "sh bash zsh",
            "sql": "sql",
            "swift": "swift",
        }.items()
        for suffix in suffixes.split()
    },
}
_BY_MEDIA_TYPE = {fmt.media_type: fmt for fmt in _BY_SUFFIX.values()}
_CONVERTIBLE = {
    "doc": "DOCX",
    "odt": "DOCX",
    "rtf": "DOCX",
    "ppt": "PPTX",
    "odp": "PPTX",
    "xls": "XLSX",
    "ods": "XLSX",
    "ipynb": "Markdown",
}
# Suffixes that are never text: named here so that a folder of photographs costs no reads.
_NEVER_TEXT = frozenset(
    "7z a avif bin bmp bz2 class dll dylib exe gif gz heic ico iso jar jpeg jpg lib mkv mov mp3 mp4 npy npz o obj ogg"
    " onnx otf parquet pickle pkl png psd pyc pyd rar so sqlite sqlite3 tar tgz tif tiff ttf wasm wav webm webp whl"
    " woff woff2 xz zip zst gguf safetensors pt pth db svg".split()
)


def known_format(uri: str, media_type: str = "") -> Format | None:
    """The format a server's media type or the suffix names, None when only the content can tell.

    Raises InputRefused for types that are known and not read.
    """
    suffix = suffix_of(uri)
    if fmt := _BY_MEDIA_TYPE.get(media_type) if media_type != "text/plain" else None:
        return fmt
    if fmt := _BY_SUFFIX.get(suffix):
        return fmt
    if suffix in _CONVERTIBLE:
        raise InputRefused(
            f"unsupported type .{suffix}", fix=f"Save it as {_CONVERTIBLE[suffix]} or PDF and add that file."
        )
    if suffix in _NEVER_TEXT:
        raise InputRefused(f"unsupported type .{suffix}", fix="Nothing to do: this type holds no text to search.")
    return None


def sniff_format(sample: bytes) -> Format:
    """The format of a file whose name says nothing: text unless its first bytes say otherwise."""
    if sample.startswith(b"%PDF-"):
        return _BY_SUFFIX["pdf"]
    head = sample[:512].lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return _BY_SUFFIX["html"]
    return _BY_SUFFIX["txt"]
