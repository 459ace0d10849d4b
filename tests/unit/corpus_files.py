"""Tiny files of every format, made when a test needs them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from pathlib import Path

from veridical.corpus import ReadOptions, Source, read
from veridical.types import Document


def source_of(path: Path) -> Source:
    facts = path.stat()
    return Source(path.as_posix(), path, facts.st_size, facts.st_mtime)


def read_all(path: Path, options: ReadOptions | None = None) -> tuple[list[Document], list[str]]:
    """The documents of a file and the warnings about it."""
    warnings: list[str] = []
    return list(read(source_of(path), options or ReadOptions(), warnings.append)), warnings


def read_one(path: Path, options: ReadOptions | None = None) -> Document:
    (document,), _ = read_all(path, options)
    return document


def pdf_bytes(
    pages: Sequence[str], facts: Mapping[str, str] | None = None, outline: Sequence[tuple[str, int]] = ()
) -> bytes:
    """A PDF of Helvetica lines; an empty page has no text at all. `outline` is of (title, page index)."""
    objects: dict[int, bytes] = {}
    kids = [10 + 2 * n for n in range(len(pages))]
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R" + (b" /Outlines 5 0 R" if outline else b"") + b" >>"
    objects[2] = f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(f'{k} 0 R' for k in kids)}] >>".encode()
    objects[3] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    objects[4] = ("<< " + " ".join(f"/{key} ({value})" for key, value in (facts or {}).items()) + " >>").encode()
    first_entry = 10 + 2 * len(pages)
    if outline:
        last = first_entry + len(outline) - 1
        objects[5] = f"<< /Type /Outlines /First {first_entry} 0 R /Last {last} 0 R /Count {len(outline)} >>".encode()
        for n, (title, page) in enumerate(outline):
            following = f"/Next {first_entry + n + 1} 0 R" if n + 1 < len(outline) else ""
            target = f"[{kids[page]} 0 R /XYZ 0 800 0]"
            objects[first_entry + n] = f"<< /Title ({title}) /Parent 5 0 R {following} /Dest {target} >>".encode()
    for kid, page in zip(kids, pages, strict=True):
        lines = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in page.split("\n")]
        drawn = "BT /F1 12 Tf 50 780 Td 14 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET" if page else ""
        stream = drawn.encode("cp1252")
        objects[kid] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {kid + 1} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        ).encode()
        objects[kid + 1] = f"<< /Length {len(stream)} >>\nstream\n".encode() + stream + b"\nendstream"
    return _assemble(objects, "/Root 1 0 R /Info 4 0 R")


def encrypted_pdf_bytes() -> bytes:
    """A PDF whose encryption dictionary asks for a password that nobody has."""
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Count 0 /Kids [] >>",
        3: b"<< /Filter /Standard /V 1 /R 2 /P -44 /O <" + b"41" * 32 + b"> /U <" + b"42" * 32 + b"> >>",
    }
    return _assemble(objects, "/Root 1 0 R /Encrypt 3 0 R /ID [<00112233445566778899aabbccddeeff> <00>]")


def _assemble(objects: Mapping[int, bytes], trailer: str) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    offsets = {}
    for number in sorted(objects):
        offsets[number] = len(out)
        out += f"{number} 0 obj\n".encode() + objects[number] + b"\nendobj\n"
    start = len(out)
    size = max(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n".encode()
    for number in range(1, size):
        out += f"{offsets[number]:010d} 00000 n \n".encode() if number in offsets else b"0000000000 00000 f \n"
    out += f"trailer\n<< /Size {size} {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def epub_bytes(chapters: Mapping[str, str], title: str = "A Book") -> bytes:
    """`chapters` maps a file name to XHTML, in the order of the spine."""
    items = "".join(
        f'<item id="c{n}" href="{name}" media-type="application/xhtml+xml"/>' for n, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>'
        f"<dc:date>1851-10-18</dc:date></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
        '<rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>"
    )
    files = {"META-INF/container.xml": container, "OEBPS/book.opf": package}
    return zip_bytes(files | {f"OEBPS/{name}": page for name, page in chapters.items()})


def zip_bytes(files: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def bomb_bytes() -> bytes:
    """Some 20 kB that unpack to 20 MB."""
    return zip_bytes({"word/document.xml": bytes(20 * 1024 * 1024)})


def eml_bytes(text: str = "", html: str = "", attachment: str = "") -> bytes:
    message = EmailMessage()
    message["Subject"] = "The harbour wall"
    message["From"] = "Ada Crane <ada@example.org>"
    message["To"] = "Ben Holt <ben@example.org>"
    message["Date"] = "Tue, 05 Mar 2024 10:00:00 +0100"
    if text:
        message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html") if text else message.set_content(html, subtype="html")
    if attachment:
        message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename=attachment)
    return message.as_bytes()
