"""Bytes to clean text: encodings found out, control characters gone, line ends made one."""

from __future__ import annotations

import codecs
import io
import re
from typing import BinaryIO

from veridical.errors import InputRefused

_BOMS = (  # UTF-32 first: its little-endian mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BINARY_STARTS = (b"PK\x03\x04", b"%PDF-", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"\x1f\x8b", b"\x7fELF", b"SQLite f")
_ODD_BYTES = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # tab, line ends, form feed and escape occur in texts
_MOST_ODD = 0.02  # compressed bytes hold some 10 %, text next to none
# Lone surrogates come out of JSON escapes and file names, and no database or tokenizer takes them.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SAMPLE_BYTES = 1 << 16  # what the statistics of an encoding need
_LATIN = ("cp1250", "cp1252", "cp1254", "cp1257", "iso8859_2", "mac_roman", "cp850")
_OTHERS = (
    "gb18030",
    "big5",
    "cp932",
    "euc_jp",
    "euc_kr",
    "cp1251",
    "koi8_r",
    "iso8859_5",
    "cp866",
    "cp1253",
    "cp1255",
    "cp1256",
    "cp874",
)
_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")
_LATIN_RUN = 2  # accented letters stand alone between others; in other scripts whole words are high bytes
# "Za\xbf\xf3\xb3\xe6": symbols amid letters show that a text in another Latin encoding was read as Western.
_SYMBOL_IN_WORD = re.compile(r"(?<=[^\W\d_])[\xa1-\xa9\xab-\xb6\xb8\xb9\xbb-\xbf\xd7\xf7](?=[^\W\d_])")


def clean(text: str) -> str:
    """Line ends as \\n, NULs removed, other control characters as spaces, lone surrogates as U+FFFD."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


def decode(content: bytes, declared: str = "") -> str:
    """Clean text out of bytes. `declared` is an encoding the file names itself, used when it works.

    Raises InputRefused when the bytes are no text.
    """
    if declared:
        try:
            return clean(content.decode(declared))
        except (LookupError, UnicodeDecodeError):
            pass  # a wrong declaration is common: judge by the bytes
    encoding = find_encoding(content, whole=True)
    return clean(content.decode(encoding, "replace"))


def find_encoding(sample: bytes, *, whole: bool) -> str:
    """The encoding of a text; `whole` says that the sample is all of it. Raises InputRefused when it looks binary."""
    for mark, encoding in _BOMS:
        if sample.startswith(mark):
            return encoding
    if wide := _find_utf16(sample):
        return wide
    if sample.startswith(_BINARY_STARTS) or len(_ODD_BYTES.findall(sample)) > _MOST_ODD * len(sample):
        raise InputRefused("looks binary, not text", fix="Give the file its true suffix, or leave it out.")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=whole)
    except UnicodeDecodeError:
        return _guess(sample)
    return "utf-8"


def text_stream(raw: BinaryIO, encoding: str) -> io.TextIOWrapper:
    """Decodes as it reads; what the encoding does not know becomes U+FFFD."""
    return io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline=None)


def _find_utf16(sample: bytes) -> str:
    """UTF-16 without its mark: in ASCII-heavy text every other byte is zero."""
    head = sample[:4096]
    if len(head) < 4:
        return ""
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = len(head) / 2
    if odd > 0.4 * half and even < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * half and odd < 0.05 * half else ""


def _guess(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    evidence = _around_first_high_byte(sample)
    runs = [len(run) for run in _HIGH_BYTES.findall(evidence)]
    if sum(runs) < _LATIN_RUN * len(runs):
        try:
            text = evidence.decode("cp1252")
        except UnicodeDecodeError:
            text = ""
        # Latin encodings differ by few letters, so short texts fit several: the commonest is right most often.
        if text and not _SYMBOL_IN_WORD.search(text):
            return "cp1252"
        best = from_bytes(evidence, cp_isolation=list(_LATIN)).best()
    else:
        best = from_bytes(evidence, cp_isolation=list(_OTHERS)).best()
    return best.encoding if best else "latin-1"


def _around_first_high_byte(sample: bytes) -> bytes:
    """A stretch that holds evidence: the first non-ASCII byte may come late in a long file."""
    first = re.search(rb"[\x80-\xff]", sample)
    start = max(first.start() - _SAMPLE_BYTES // 2, 0) if first else 0
    return sample[start : start + _SAMPLE_BYTES]
