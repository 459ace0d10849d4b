"""A record is a document; a broken line is a warning."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from unit.corpus_files import read_all
from veridical.corpus import beir
from veridical.errors import InputRefused


def test_csv_rows_name_their_columns(tmp_path: Path) -> None:
    file = tmp_path / "stones.csv"
    file.write_text('title,weight,note\nCorner,12,"laid\nfirst"\nCap,3,\n\nOdd,1,2,3\n')
    documents, warnings = read_all(file)
    assert [document.text for document in documents] == [
        "title: Corner\nweight: 12\nnote: laid\nfirst",
        "title: Cap\nweight: 3",
        "title: Odd\nweight: 1\nnote: 2\ncolumn 4: 3",
    ]
    assert [document.title for document in documents] == ["Corner", "Cap", "Odd"]
    assert documents[0].uri == f"{file.as_posix()}#row=2"
    assert len({document.id for document in documents}) == 3
    assert warnings == ["row 5 has 4 fields, the header 3"]


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ";"), ("a.csv", "\t"), ("a.tsv", "\t"), ("a.csv", "|")])
def test_the_delimiter_is_found(tmp_path: Path, name: str, delimiter: str) -> None:
    file = tmp_path / name
    file.write_text(f"a{delimiter}b\n1,5{delimiter}2\n")
    assert [document.text for document in read_all(file)[0]] == ["a: 1,5\nb: 2"]


def test_a_quote_that_never_closes_does_not_swallow_a_long_file(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('a,b\n1,"never closed\n' + "2,ordinary row\n" * 10_000)
    documents, warnings = read_all(file)
    assert len(documents) > 1000
    assert "lines 2 to" in warnings[0]


def test_jsonl_uses_ids_titles_and_texts_and_reports_broken_lines(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    lines = [
        json.dumps({"_id": "w1", "title": "Wall", "text": "It rose."}),
        "{broken",
        json.dumps({"year": 1903, "event": "fell", "tags": ["sea"], "none": None}),
        "[1]",
        "",
        json.dumps({"id": "w1", "text": "Again \ud800."}),
    ]
    file.write_text("\n".join(lines))
    documents, warnings = read_all(file)
    assert [document.uri.partition("#")[2] for document in documents] == ["id=w1", "row=3", "row=6"]
    assert [document.text for document in documents] == [
        "It rose.",
        'year: 1903\nevent: fell\ntags: ["sea"]',
        "Again \ufffd.",
    ]
    assert [document.title for document in documents] == ["Wall", "r, row 3", "r, row 6"]
    assert warnings[0].startswith("line 2 is not JSON")
    assert warnings[1:] == [
        "line 4 is not a JSON object",
        "line 6 repeats the id 'w1'; it is kept under its line number",
    ]


def test_a_line_separator_inside_a_string_does_not_end_the_line(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text('{"text": "one\u2028two\x85three"}\n', encoding="utf-8")
    documents, warnings = read_all(file)
    assert len(documents) == 1
    assert warnings == []


def test_a_record_file_without_records_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text("not json\n")
    with pytest.raises(InputRefused, match="no record"):
        read_all(file)


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_beir_keeps_ids_as_they_are(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    lines = '{"_id": "MED-10", "title": "Statins", "text": "They help."}\nnonsense\n{"text": "no id"}\n'
    file.write_bytes(gzip.compress(lines.encode()) if name.endswith("gz") else lines.encode())
    warnings: list[str] = []
    (document,) = beir(file, warnings.append)
    assert (document.id, document.uri) == ("MED-10", f"{file.as_posix()}#MED-10")
    assert (document.title, document.text) == ("Statins", "They help.")
    assert [warning.split(":")[0] for warning in warnings] == ["line 2 is not JSON", "line 3 has no _id"]


def test_beir_that_is_no_gzip_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl.gz"
    file.write_bytes(b"plain")
    with pytest.raises(InputRefused, match="cannot be read"):
        list(beir(file))


def test_a_beir_corpus_reports_what_cannot_be_kept(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    rows = [
        {"_id": "d1", "text": "One."},
        {"_id": "d1", "text": "Another one."},
        {"_id": "d 2", "text": "Two."},
        {"_id": "d3", "text": ""},
        {"text": "No id."},
    ]
    corpus.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    warnings: list[str] = []
    assert [document.id for document in beir(corpus, warnings.append)] == ["d1", "d1", "d_2"]
    assert [warning.split(":")[0][:6] for warning in warnings] == ["line 2", "line 3", "line 4", "line 5"]


def test_what_is_no_beir_corpus_is_refused(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(InputRefused, match="no BEIR document"):
        list(beir(corpus))
