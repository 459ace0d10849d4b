"""Pages that are pictures are read where they stand, if the user asks for it, and the user hears of it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from unit.corpus_files import _assemble, pdf_bytes, read_all, read_one
from veridical.corpus import ReadOptions, chunk
from veridical.corpus.read import ocr
from veridical.corpus.tokens import count_words
from veridical.errors import ConfigError, InputRefused

OCR = ReadOptions(ocr=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scan.pdf"
    path.write_bytes(pdf_bytes(["First page here.", "", "Third page here."]))
    return path


def pretend_to_read(monkeypatch: pytest.MonkeyPatch, text: str) -> list[tuple[int, ...]]:
    """Every picture holds `text`; the list fills with the shapes of those that were looked at."""
    seen: list[tuple[int, ...]] = []

    def recognise(image: Any) -> str:
        seen.append(image.shape)
        return text

    monkeypatch.setattr(ocr, "require_ocr", lambda: None)
    monkeypatch.setattr(ocr, "recognise", recognise)
    return seen


def test_a_picture_is_read_where_its_page_stands(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = pretend_to_read(
        monkeypatch, "A scanned sentence that goes on over the inter-\nnational line.\n\nA second one."
    )
    (document,), warnings = read_all(file, OCR)
    scanned = "A scanned sentence that goes on over the international line.\n\nA second one."
    assert document.text == f"First page here.\n\n{scanned}\n\nThird page here."
    assert document.pages == (0, document.text.index("A scanned"), document.text.index("Third"))
    assert warnings == ["page 2 was read by OCR; check it"]
    assert seen == [(2223, 1667, 3)]  # 800 by 600 points at 200 dots an inch
    assert {passage.page for passage in chunk(document, 8, count_words) if passage.text in scanned} == {2}


def test_a_page_without_words_is_still_reported(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_to_read(monkeypatch, "")
    (document,), warnings = read_all(file, OCR)
    assert document.text == "First page here.\n\nThird page here."
    assert warnings == ["page 2 has no text (scanned?)"]


def test_pictures_are_left_alone_unless_asked_for(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = pretend_to_read(monkeypatch, "words")
    assert "words" not in read_one(file).text
    assert seen == []


def test_a_missing_extra_is_named_before_any_page_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda name: None)
    path = tmp_path / "text.pdf"
    path.write_bytes(pdf_bytes(["No picture here."]))
    with pytest.raises(ConfigError) as caught:
        read_one(path, OCR)
    assert caught.value.fix == "pip install 'veridical[ocr]'"


def test_a_scan_without_ocr_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(pdf_bytes(["", ""]))
    with pytest.raises(InputRefused, match="pictures") as caught:
        read_one(path)
    assert "read.ocr" in caught.value.fix
    assert "veridical[ocr]" in caught.value.fix


def test_more_scans_than_time_are_refused_not_left_out(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_to_read(monkeypatch, "words")
    with pytest.raises(InputRefused, match="too many scanned pages") as caught:
        read_one(file, ReadOptions(ocr=True, timeout_s=0))
    assert "read.timeout_s" in caught.value.fix


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("rapidocr") is None, reason="needs the `ocr` extra")
def test_the_extra_reads_a_picture_of_words(tmp_path: Path) -> None:
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("L", (1200, 300), 255)
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=40)
    for n, line in enumerate(["The harbour wall was built in 1851.", "A pilot costs 84 crowns a passage."]):
        draw.text((40, 60 + 70 * n), line, font=font, fill=0)
    pixels = picture.tobytes()
    drawn = b"q 600 0 0 150 0 600 cm /I Do Q"
    path = tmp_path / "scan.pdf"
    path.write_bytes(
        _assemble(
            {
                1: b"<< /Type /Catalog /Pages 2 0 R >>",
                2: b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
                3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
                b" /Resources << /XObject << /I 5 0 R >> >> >>",
                4: f"<< /Length {len(drawn)} >>\nstream\n".encode() + drawn + b"\nendstream",
                5: b"<< /Type /XObject /Subtype /Image /Width 1200 /Height 300 /ColorSpace /DeviceGray"
                + f" /BitsPerComponent 8 /Length {len(pixels)} >>\nstream\n".encode()
                + pixels
                + b"\nendstream",
            },
            "/Root 1 0 R",
        )
    )
    (document,), warnings = read_all(path, OCR)
    assert warnings == ["page 1 was read by OCR; check it"]
    assert " ".join(document.text.split()) == "The harbour wall was built in 1851. A pilot costs 84 crowns a passage."
