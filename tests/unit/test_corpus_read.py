"""Each format gives its text, its structure and its facts, at exact places."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from unit.corpus_files import _assemble, eml_bytes, epub_bytes, pdf_bytes, read_all, read_one
from veridical.corpus import ReadOptions, Source, chunk, document_id, read
from veridical.corpus.tokens import count_words
from veridical.errors import ConfigError
from veridical.types import Document


def typeset_pdf(*pages: str, matrix: bool = False) -> bytes:
    """A PDF of 10-point lines. `# ` and `## ` set a line in 18 and 13 points, `* ` in bold, `\\t` begins a cell.

    An empty line leaves space. `matrix` enlarges type of size 1 instead of naming its size, as many programs do.
    """
    kids = " ".join(f"{10 + 2 * n} 0 R" for n in range(len(pages)))
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        4: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>",
    }
    for n, page in enumerate(pages):
        drawn, y = "", 780.0
        for line in page.split("\n"):
            mark, _, words = line.partition(" ") if line.startswith(("# ", "## ", "* ")) else ("", "", line)
            size = {"#": 18, "##": 13}.get(mark, 10)
            y -= size * 1.3 if line else 8
            for at, cell in enumerate(words.split("\t")):
                font = f"/{'F2' if mark == '*' else 'F1'} {1 if matrix else size} Tf"
                place = f"{size} 0 0 {size} {50 + 150 * at} {y} Tm" if matrix else f"1 0 0 1 {50 + 150 * at} {y} Tm"
                drawn += f"BT {font} {place} ({cell}) Tj ET\n"
        objects[10 + 2 * n] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {11 + 2 * n} 0 R"
            " /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>"
        ).encode()
        objects[11 + 2 * n] = f"<< /Length {len(drawn)} >>\nstream\n".encode() + drawn.encode() + b"\nendstream"
    return _assemble(objects, "/Root 1 0 R")


BODY = (
    "Every vessel that is longer than forty metres takes a pilot, who boards\n"
    "two miles south of the pier. The pilot boat carries a crew of two men."
)


def sections(document: Document) -> list[tuple[tuple[str, ...], str]]:
    """Every heading path with the first line that stands at its start."""
    return [(heading.path, document.text[heading.start :].split("\n")[0]) for heading in document.headings]


# ── PDF ──────────────────────────────────────────────────────────────────────────────────────────


def test_pdf_keeps_pages_and_reports_those_without_text(tmp_path: Path) -> None:
    file = tmp_path / "report.pdf"
    file.write_bytes(
        pdf_bytes(["First page here.", "", "Third page here."], {"Title": "Wall", "ModDate": "D:20230405"})
    )
    (document,), warnings = read_all(file)
    assert warnings == ["page 2 has no text (scanned?)"]
    assert (document.title, document.date, document.media_type) == ("Wall", date(2023, 4, 5), "application/pdf")
    assert document.text == "First page here.\n\nThird page here."
    passages = chunk(document, 3, count_words)
    assert [(passage.text, passage.page) for passage in passages] == [("First page here.", 1), ("Third page here.", 3)]


def test_pdf_lines_become_paragraphs_and_broken_words_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    page = (
        "The Wall\nThe wall of the harbour was built by an inter-\nnational company of masons, who came from far\n"
        "away.\nThe second paragraph begins on a line of its own\nand goes on."
    )
    file.write_bytes(pdf_bytes([page]))
    assert read_one(file).text == (
        "The Wall\nThe wall of the harbour was built by an international company of masons, who came from far away.\n\n"
        "The second paragraph begins on a line of its own and goes on."
    )
    assert read_one(file).title == "The Wall"


def test_pdf_sentence_running_over_a_page_is_not_torn(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf_bytes(["The wall was", "built in 1851."]))
    assert read_one(file).text == "The wall was\nbuilt in 1851."


def test_pdf_headers_footers_and_page_numbers_are_dropped(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    body = [
        [f"{word} stone was laid with care on the old wall" for word in words.split()]
        for words in ("A B C", "D E F", "G H I")
    ]
    file.write_bytes(pdf_bytes(["\n".join(["The Wall", *lines, f"page {n}"]) for n, lines in enumerate(body)]))
    document = read_one(file)
    assert "The Wall" not in document.text
    assert "page" not in document.text
    assert document.text.count("stone was laid") == 9


def test_pdf_numbered_heading_after_a_full_line_stands_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    page = (
        "The wall of the harbour rose in the year of 1851.\n2.2 Naming\nIt was named after the man who had paid for it."
    )
    file.write_bytes(pdf_bytes([page]))
    assert "1851.\n\n2.2 Naming\nIt was" in read_one(file).text


def test_pdf_outline_gives_headings(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf_bytes(["Preface.\nHistory\nIt rose.", "It fell."], outline=[("History", 0), ("Ruin", 1)]))
    assert sections(read_one(file)) == [(("History",), "History"), (("Ruin",), "It fell.")]


@pytest.mark.parametrize("matrix", [False, True])
def test_pdf_larger_lines_are_headings_on_lines_of_their_own(tmp_path: Path, matrix: bool) -> None:
    file = tmp_path / "a.pdf"
    first = f"# The Harbour Manual\n{BODY}\n## 1 Pilotage\n{BODY}"
    second = f"## 2 The cargo crane and\n## everything it lifts\n{BODY}\n# Annex\n{BODY}"
    file.write_bytes(typeset_pdf(first, second, matrix=matrix))
    document = read_one(file)
    body = BODY.replace("\n", " ")
    crane = "2 The cargo crane and everything it lifts"
    assert document.text.split("\n\n") == [
        "The Harbour Manual", body, "1 Pilotage", body, crane, body, "Annex", body
    ]  # fmt: skip
    assert sections(document) == [
        (("The Harbour Manual",), "The Harbour Manual"),
        (("The Harbour Manual", "1 Pilotage"), "1 Pilotage"),
        (("The Harbour Manual", crane), crane),
        (("Annex",), "Annex"),
    ]
    assert document.pages == (0, document.text.index(crane))


def test_pdf_bold_lines_with_space_above_are_headings_and_table_rows_are_not(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    words = f"{BODY}\n\n* Fuel\n{BODY}\n* Note well\n{BODY}\n\n* Rule\tOld\tNew\nWind\t35 knots\t30 knots\n{BODY}"
    file.write_bytes(typeset_pdf(words))
    assert sections(read_one(file)) == [(("Fuel",), "Fuel")]


@pytest.mark.parametrize(
    "page",
    [
        BODY,
        f"# T\n{BODY}",  # a drop cap
        f"## Introduction ........ 3\n{BODY}",  # a table of contents
        f"## Of all these rules,\n{BODY}",
        "# Come to the harbour\n## and eat our fish\nfrom noon",  # a poster
        "\n".join([*(f"## {word} is large print for" for word in ("One", "Two", "Six", "Ten")), *[BODY] * 6]),
        "\n".join(f"* {line}" for line in BODY.split("\n")),
    ],
)
def test_pdf_without_clear_headings_has_none(tmp_path: Path, page: str) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(typeset_pdf(page))
    assert read_one(file).headings == ()


# ── office ───────────────────────────────────────────────────────────────────────────────────────


def test_docx_headings_lists_and_tables(tmp_path: Path) -> None:
    import docx

    made = docx.Document()
    made.core_properties.title = "Harbour"
    made.core_properties.modified = datetime(2022, 1, 2, tzinfo=UTC)
    made.add_heading("History", 1)
    made.add_heading("The wall", 2)
    made.add_paragraph("It rose.")
    table = made.add_table(rows=2, cols=2)
    for cell, text in zip(
        [*table.rows[0].cells, *table.rows[1].cells], ["Year", "Event", "1851", "built"], strict=True
    ):
        cell.text = text
    made.add_heading("People", 1)
    made.add_paragraph("Ada", style="List Bullet")
    made.add_paragraph("Ben", style="List Bullet")
    file = tmp_path / "h.docx"
    made.save(str(file))
    document = read_one(file)
    assert document.text == "History\n\nThe wall\n\nIt rose.\n\nYear | Event\n1851 | built\n\nPeople\n\nAda\nBen"
    assert sections(document) == [
        (("History",), "History"),
        (("History", "The wall"), "The wall"),
        (("People",), "People"),
    ]
    assert (document.title, document.date) == ("Harbour", date(2022, 1, 2))


def test_pptx_slides_are_pages_and_notes_are_read(tmp_path: Path) -> None:
    from pptx import Presentation

    deck = Presentation()
    for title, body in [("The wall", "It rose."), ("The storm", "It fell.")]:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
    deck.slides[1].notes_slide.notes_text_frame.text = "Speak slowly."
    deck.slides.add_slide(deck.slide_layouts[6])
    file = tmp_path / "d.pptx"
    deck.save(str(file))
    document = read_one(file)
    assert document.text == "The wall\n\nIt rose.\n\nThe storm\n\nIt fell.\n\nNotes: Speak slowly."
    assert sections(document)[:2] == [(("The wall",), "The wall"), (("The storm",), "The storm")]
    assert document.pages[:2] == (0, document.text.index("The storm"))
    assert document.title == "The wall"


def test_xlsx_sheets_are_sections_and_rows_name_their_columns(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.title = "Stones"
    for row in [["Name", "Weight", "Laid"], ["Corner", 12.0, date(1951, 5, 1)], [None, None, None], ["Cap", 3.5]]:
        sheet.append(row)
    book.create_sheet("Empty")
    book.create_sheet("Note").append(["Only a line"])
    file = tmp_path / "s.xlsx"
    book.save(file)
    document = read_one(file)
    assert document.text == (
        "Stones\n\nName: Corner\nWeight: 12\nLaid: 1951-05-01\n\nName: Cap\nWeight: 3.5\n\nNote\n\nOnly a line"
    )
    assert sections(document) == [(("Stones",), "Stones"), (("Note",), "Note")]


# ── web and books ────────────────────────────────────────────────────────────────────────────────

PAGE = """<!doctype html><html><head><title>Harbour  wall</title>
<meta property="article:published_time" content="2024-02-03T10:00:00Z"><style>p{}</style></head><body>
<header>Site name</header><nav>Home | About</nav>
<main><h1>The wall</h1><!-- a comment -->It <b>rose</b>&nbsp;in<br>1851.<p hidden>Secret</p>
<div style="display: none">Invisible</div><p>A <a href="#">link</a>, then text.</p>
<h2>Parts</h2><ul><li>Stone</li><li>Lime</li></ul>
<table><tr><th>Year</th><th>Event</th></tr><tr><td><p>1903</p></td><td>fell</td></tr></table>
<pre>a = 1
  b = 2</pre><script>alert(1)</script>tail</main>
<aside>Adverts</aside><footer>Imprint</footer></body></html>"""


def test_html_main_text_without_the_furniture(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(PAGE)
    document = read_one(file)
    assert document.text == (
        "The wall\n\nIt rose in\n1851.\n\nA link, then text.\n\nParts\n\n- Stone\n- Lime\n\n"
        "Year | Event\n1903 | fell\n\na = 1\n  b = 2\n\ntail"
    )
    assert sections(document) == [(("The wall",), "The wall"), (("The wall", "Parts"), "Parts")]
    assert (document.title, document.date) == ("Harbour wall", date(2024, 2, 3))


def test_html_without_main_drops_the_site_header_but_not_the_text(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<body><header>Site</header><p>One.</p><p>Two.</p></body>")
    assert read_one(file).text == "One.\n\nTwo."


def test_html_wrapped_into_a_form_is_still_read(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<body><form><p>All of it.</p></form></body>")
    assert read_one(file).text == "All of it."


def test_html_declares_its_encoding(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_bytes('<meta charset="windows-1251"><p>Стена гавани</p>'.encode("cp1251"))
    assert read_one(file).text == "Стена гавани"


def test_html_nested_very_deep_is_read_without_recursion(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<p>Shallow.</p>" + "<div>" * 1500 + "Deep." + "</div>" * 1500)
    assert read_one(file).text == "Shallow.\n\nDeep."


def test_trafilatura_missing_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    file = tmp_path / "page.html"
    file.write_text(PAGE)
    with pytest.raises(ConfigError) as caught:
        read_one(file, ReadOptions(html="trafilatura"))
    assert caught.value.fix == "pip install 'veridical[web]'"


def test_epub_chapters_in_the_order_of_the_spine(tmp_path: Path) -> None:
    file = tmp_path / "book.epub"
    chapters = {
        "b.xhtml": '<?xml version="1.0" encoding="utf-8"?><html><body><h1>Zwölf</h1><p>It rose.</p></body></html>',
        "a.xhtml": "<html><head><title>The storm</title></head><body><p>It fell.</p></body></html>",
    }
    file.write_bytes(epub_bytes(chapters, "Walls"))
    document = read_one(file)
    assert document.text == "Zwölf\n\nIt rose.\n\nIt fell."
    assert sections(document) == [(("Zwölf",), "Zwölf"), (("The storm",), "It fell.")]
    assert (document.title, document.date) == ("Walls", date(1851, 10, 18))


def test_eml_subject_people_date_and_the_plain_part(tmp_path: Path) -> None:
    file = tmp_path / "m.eml"
    file.write_bytes(eml_bytes("It rose.", "<p>It <b>rose</b>.</p>", attachment="plan.pdf"))
    (document,), warnings = read_all(file)
    assert document.text == (
        "From: Ada Crane <ada@example.org>\nTo: Ben Holt <ben@example.org>\n"
        "Date: Tue, 05 Mar 2024 10:00:00 +0100\n\nIt rose."
    )
    assert (document.title, document.date) == ("The harbour wall", date(2024, 3, 5))
    assert warnings == ["attachment plan.pdf was not read"]


def test_eml_with_html_alone_gives_its_text(tmp_path: Path) -> None:
    file = tmp_path / "m.eml"
    file.write_bytes(eml_bytes(html="<p>It <b>rose</b>.</p><script>x</script>"))
    assert read_one(file).text.endswith("\n\nIt rose.")


# ── text ─────────────────────────────────────────────────────────────────────────────────────────


def test_markdown_headings_have_exact_places_and_paths(tmp_path: Path) -> None:
    file = tmp_path / "wall.md"
    file.write_text("# The *wall*\n\nIt rose.\n\n```\n# not a heading\n```\n\nParts\n-----\n\n### Deep\n\n# End\n")
    document = read_one(file)
    assert document.text == file.read_text()
    assert sections(document) == [
        (("The wall",), "# The *wall*"),
        (("The wall", "Parts"), "Parts"),
        (("The wall", "Parts", "Deep"), "### Deep"),
        (("End",), "# End"),
    ]
    assert document.title == "The wall"


@pytest.mark.parametrize(
    "front",
    [
        '---\ntitle: "Sea wall"\ndate: 2024-05-06\ntags: [sea, stone]\n---\n\n',
        "---\nTitle: Sea wall\ndate: 2024-05-06T10:00\ntags:\n  - sea\n  - stone\n---\n",
        '+++\ntitle = "Sea wall"\ndate = 2024-05-06\ntags = ["sea", "stone"]\n+++\n',
    ],
)
def test_markdown_front_matter_is_facts_not_text(tmp_path: Path, front: str) -> None:
    file = tmp_path / "wall.md"
    file.write_text(f"{front}# Wall\n\nIt rose.\n")
    document = read_one(file, ReadOptions(tags=("mine",)))
    assert (document.title, document.date, document.tags) == ("Sea wall", date(2024, 5, 6), ("mine", "sea", "stone"))
    assert document.text == file.read_text()[document.offset :] == "# Wall\n\nIt rose.\n"
    assert document.headings[0].start == 0


def test_a_rule_is_no_front_matter(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("One.\n\n---\n\ntitle: no\n\n---\n")
    assert read_one(file).text == file.read_text()


def test_text_has_the_name_id_and_date_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "notes of May.txt"
    file.write_text("It rose.")
    document = read_one(file)
    assert document.title == "notes of May"
    assert document.uri == file.as_posix()
    assert document.id == document_id(document.uri)
    assert len(document.id) == 16
    assert document.date == datetime.fromtimestamp(file.stat().st_mtime, tz=UTC).date()


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a.txt", "The Harbour Wall\n\nIt rose.", "The Harbour Wall"),
        ("a.txt", "\n\n  The Harbour Wall\n================\nIt rose.", "The Harbour Wall"),
        ("a.rst", "====\nWall\n====\n\nIt rose.", "Wall"),
        ("harbour_wall-old.txt", "It rose.\n\nIt fell.", "harbour wall old"),
        ("log-2024-07.txt", "Dear Ada,\n\nIt fell.", "log 2024-07"),
        ("a.txt", "The Harbour Wall\nIt rose.", "a"),
        ("a.txt", "The Harbour Wall", "a"),
        ("a.txt", "Contents:\n\nIt rose.", "a"),
        ("a.txt", "x" * 91 + "\n\nIt rose.", "a"),
        ("a.txt", "-----\n\nIt rose.", "a"),
        ("my-settings.ini", "[harbour wall]\n\nheight=3", "my-settings"),
    ],
)
def test_text_is_titled_by_a_first_line_that_stands_apart(tmp_path: Path, name: str, text: str, title: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    document = read_one(file)
    assert (document.title, document.text) == (title, text)


def test_code_headings_name_class_and_method(tmp_path: Path) -> None:
    file = tmp_path / "wall.py"
    file.write_text(
        "import os\n\n\nclass Wall:\n    height = 1\n\n    @property\n    def top(self):\n"
        "        def inner():\n            pass\n        return 1\n\n\nasync def build():\n    pass\n\n\nLIMIT = 3\n"
    )
    assert sections(read_one(file)) == [
        (("Wall",), "class Wall:"),
        (("Wall", "top"), "    @property"),
        (("build",), "async def build():"),
        ((), "LIMIT = 3"),
    ]


def test_code_in_braces_has_headings_too(tmp_path: Path) -> None:
    file = tmp_path / "wall.rs"
    file.write_text(
        "use std::fs;\n\n/// A wall.\npub struct Wall {}\n\nimpl Wall {\n    pub fn top(&self) -> u8 { 1 }\n}\n"
    )
    assert sections(read_one(file)) == [
        (("Wall",), "/// A wall."),
        (("Wall",), "impl Wall {"),
        (("Wall", "top"), "    pub fn top(&self) -> u8 { 1 }"),
    ]


def test_a_file_without_suffix_is_judged_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("It rose.")
    (tmp_path / "paper").write_bytes(pdf_bytes(["It fell."]))
    (tmp_path / "page").write_text("<!DOCTYPE html><p>It <b>stood</b>.</p>")
    texts = [read_one(tmp_path / name).text for name in ("README", "paper", "page")]
    assert texts == ["It rose.", "It fell.", "It stood."]


def test_content_of_a_url_is_read_by_what_the_server_calls_it() -> None:
    source = Source(
        "https://example.org/wall?x=1", content=b"<title>Wall</title><p>It rose.</p>", media_type="text/html"
    )
    (document,) = read(source, ReadOptions())
    assert (document.uri, document.title, document.text) == ("https://example.org/wall?x=1", "Wall", "It rose.")


@pytest.mark.parametrize(
    ("media_type", "meta"),
    [
        ("text/html; charset=ISO-8859-5", ""),
        ('text/html;charset="iso-8859-5"', ""),
        ("text/html; charset=utf-8", "<meta charset=iso-8859-5>"),  # the page knows better than its server
        ("text/html; charset=nonsense", "<meta charset=iso-8859-5>"),
    ],
)
def test_html_is_decoded_as_the_page_or_else_the_server_says(media_type: str, meta: str) -> None:
    content = f"{meta}<p>Мол</p>".encode("iso-8859-5")
    (document,) = read(Source("https://example.org/", content=content, media_type=media_type), ReadOptions())
    assert (document.text, document.media_type) == ("Мол", "text/html")
