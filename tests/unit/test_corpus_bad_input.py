"""Broken, hostile and odd files: a clear refusal or a clean text, never a crash."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from unit.corpus_files import (
    bomb_bytes,
    encrypted_pdf_bytes,
    epub_bytes,
    pdf_bytes,
    read_all,
    read_one,
    zip_bytes,
)
from veridical.corpus import ReadOptions
from veridical.corpus.read.decode import clean
from veridical.errors import InputRefused


def refusal(path: Path, content: bytes, options: ReadOptions | None = None) -> InputRefused:
    path.write_bytes(content)
    with pytest.raises(InputRefused) as caught:
        read_all(path, options)
    assert caught.value.fix
    return caught.value


NAMES = [
    "a.txt",
    "a.md",
    "a.py",
    "a.html",
    "a.csv",
    "a.jsonl",
    "a.eml",
    "a.pdf",
    "a.docx",
    "a.pptx",
    "a.xlsx",
    "a.epub",
]


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_file_is_refused(tmp_path: Path, name: str) -> None:
    refusal(tmp_path / name, b"")


@pytest.mark.parametrize("name", NAMES)
def test_random_bytes_are_refused(tmp_path: Path, name: str) -> None:
    noise = bytes((n * n * 31 + n * 7) % 256 for n in range(5000))
    refusal(tmp_path / name, noise)


@pytest.mark.parametrize("name", ["a.txt", "a.html"])
def test_white_space_is_no_text(tmp_path: Path, name: str) -> None:
    assert refusal(tmp_path / name, b" \n\t\n").message == "holds no text"


def test_an_encrypted_pdf_says_how_to_decrypt_it(tmp_path: Path) -> None:
    error = refusal(tmp_path / "a.pdf", encrypted_pdf_bytes())
    assert error.message == "is encrypted"
    assert "password" in error.fix


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_truncated_pdf_is_refused(tmp_path: Path, share: float) -> None:
    whole = pdf_bytes(["One page of text."] * 20)
    assert "truncated" in refusal(tmp_path / "a.pdf", whole[: int(len(whole) * share)]).message


def test_a_pdf_of_pictures_points_to_ocr(tmp_path: Path) -> None:
    assert "OCR" in refusal(tmp_path / "a.pdf", pdf_bytes(["", ""])).fix


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub"])
def test_a_zip_bomb_is_refused_unopened(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object) -> None:
        raise AssertionError("the bomb was unpacked")

    bomb = bomb_bytes()
    monkeypatch.setattr(zipfile.ZipFile, "open", explode)
    assert "zip bomb" in refusal(tmp_path / name, bomb).message


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub"])
def test_a_zip_of_something_else_is_refused(tmp_path: Path, name: str) -> None:
    refusal(tmp_path / name, zip_bytes({"hello.txt": "hello"}))


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub"])
def test_a_truncated_zip_is_refused(tmp_path: Path, name: str) -> None:
    whole = epub_bytes({"a.xhtml": "<p>It rose.</p>"})
    assert "damaged" in refusal(tmp_path / name, whole[:-40]).message


def test_an_office_file_with_a_password_is_named_so(tmp_path: Path) -> None:
    assert refusal(tmp_path / "a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)).message == "is encrypted"


def test_entities_do_not_multiply(tmp_path: Path) -> None:
    import docx

    buffer = io.BytesIO()
    made = docx.Document()
    made.add_paragraph("MARK")
    made.save(buffer)
    parts = zipfile.ZipFile(buffer)
    files: dict[str, str | bytes] = {name: parts.read(name) for name in parts.namelist()}
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha"}">' for n in range(9))
    body = parts.read("word/document.xml").decode()
    head, _, rest = body.partition("?>")
    files["word/document.xml"] = f"{head}?><!DOCTYPE x [{laughs}]>{rest}".replace("MARK", "MARK &l8;")
    assert "damaged" in refusal(tmp_path / "a.docx", zip_bytes(files)).message


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    assert "larger than" in refusal(tmp_path / "a.html", b"<p>" + b"x" * 5000, ReadOptions(max_file_bytes=1000)).message


@pytest.mark.parametrize("head", [b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", b"\x7fELF\x02\x01\x01"])
def test_a_binary_file_named_txt_is_refused(tmp_path: Path, head: bytes) -> None:
    assert "looks binary" in refusal(tmp_path / "a.txt", head + bytes(range(256)) * 4).message


TEXTS = {
    "utf-8": "Zwölf Boxkämpfer – “quoted” 港口",
    "utf-8-sig": "Zwölf Boxkämpfer",
    "utf-16": "Zwölf Boxkämpfer 港口",
    "utf-16-le": "Twelve boxers hunt Victor across the dyke",
    "utf-16-be": "Twelve boxers hunt Victor across the dyke",
    "utf-32": "Zwölf Boxkämpfer",
    "cp1252": "Café déjà vu – naïve “quotes”",
    "latin-1": "Der Fluß ist groß. Schöne Grüße aus Köln. Über allen Gipfeln ist Ruh.",
    "cp1251": "Привет, мир! Это русский текст для проверки кодировки.",
    "cp1250": "Zażółć gęślą jaźń. Pchnąć w tę łódź jeża lub ośm skrzyń fig.",
    "gb18030": "这是一个测试文件，用来检查编码。我们希望它能够正确识别。",
    "shift_jis": "これはテストファイルです。文字コードを調べます。",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_encodings_are_found_out(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(TEXTS[encoding].encode(encoding))
    assert read_one(path).text == TEXTS[encoding]


def test_control_characters_are_cleaned_away(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    # \x00 is removed, the rest becomes a space; a stray control character does not make a text binary.
    path.write_bytes(b"It\r\nro\x00se\rin\x1b[0m " + b"and it stood there for a very long time " * 10 + b"\x9f\x7f.")
    text = read_one(path).text
    assert text.startswith("It\nrose\nin [0m ")
    assert not any(ord(char) < 32 and char not in "\n\t" for char in text)


def test_clean_leaves_nothing_that_cannot_be_stored() -> None:
    assert clean("a\ud800b\x85c\x0bd\te") == "a\ufffdb c d\te"


def test_an_eml_without_headers_is_refused(tmp_path: Path) -> None:
    assert "not an e-mail" in refusal(tmp_path / "a.eml", b"Just some words.\n").message


def test_an_eml_with_a_broken_charset_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    path.write_bytes(b"Subject: x\nContent-Type: text/plain; charset=no-such\n\nCaf\xc3\xa9 rose.\n")
    assert read_one(path).text == "Café rose."


def test_an_epub_chapter_that_is_missing_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.epub"
    whole = epub_bytes({"a.xhtml": "<p>It rose.</p>", "b.xhtml": "<p>It fell.</p>"})
    parts = zipfile.ZipFile(io.BytesIO(whole))
    path.write_bytes(zip_bytes({name: parts.read(name) for name in parts.namelist() if not name.endswith("b.xhtml")}))
    (document,), warnings = read_all(path)
    assert document.text == "It rose."
    assert warnings == ["chapter OEBPS/b.xhtml is missing or damaged"]


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("It rose.")

    def refuse(*_: object, **__: object) -> None:  # root may read any file, so the refusal is played
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputRefused, match="may not be read"):
        read_all(path)
