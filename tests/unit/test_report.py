"""An audit, its JSON and its page: what passes, exact spans, and a page that nothing in a document can break."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.report import Audit, Numbered, Rules, render_page, to_json
from veridical.types import Citation, Claim, Conflict, Evidence, Finding, Label, Passage, Span, Verdict

TEXT = "# Bridges\n\nThe bridge opened in 1913 [1]. It has nine arches [1].\n\nNobody lives there now.\n"
SAID = "It was slow. The bridge opened in 1913. It has five arches."
PASSAGE = Passage("p1", "d1", SAID, Span(100, 159), "Old & new", "/docs/1.md")


def span(part: str, text: str = TEXT) -> Span:
    start = text.index(part)
    return Span(start, start + len(part))


def evidence(said: str, uri: str = "/docs/1.md", mark: int = 1, passage: str = "p1") -> Evidence:
    at = span(said, PASSAGE.text).shift(100) if said in PASSAGE.text else Span(0, len(said))
    return Evidence(said, Citation(mark, passage, "d1", "Old & new", uri, at, page=3))


def audit(**changes: object) -> Audit:
    opened, arches = evidence("The bridge opened in 1913."), evidence("It has five arches.")
    finding = Finding("number", "nine", "nine is not in the cited passage")
    claims = (
        Claim("The bridge opened in 1913.", span("The bridge opened in 1913 [1]."), (opened.source,),
              Verdict(Label.SUPPORTED, 0.97, opened, "the cited passage says so", cited=True)),
        Claim("It has nine arches.", span("It has nine arches [1]."), (arches.source,),
              Verdict(Label.CONTRADICTED, 0.02, arches, "the cited passage says otherwise", findings=(finding,))),
        Claim("Nobody lives there now.", span("Nobody lives there now."), (), Verdict(score=0.1)),
    )  # fmt: skip
    made = Audit(
        "answer.md", TEXT, claims, "docs/", "local", (Numbered(1, "d1", "Old & new", "/docs/1.md", True),),
        {"p1": PASSAGE}, skipped=(span("# Bridges"),), invalid_marks=(7,), notes=("marks that name no source: [7]",),
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


# ── what passes ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rules", "failures"),
    [
        (Rules(), ("", "contradicted", "unverified")),
        (Rules(allow_unverified=True), ("", "contradicted", "")),
        (Rules(min_score=0.98, allow_unverified=True), ("score 0.97 is below 0.98", "contradicted", "")),
    ],
)
def test_each_rule_fails_its_own_claims(rules: Rules, failures: tuple[str, ...]) -> None:
    assert audit(rules=rules).failures == failures


def test_strict_citations_fail_a_supported_claim_that_cites_the_wrong_source() -> None:
    elsewhere = Verdict(Label.SUPPORTED, 0.9, evidence("It has five arches."), cited=False)
    assert Rules().failure(elsewhere) == ""
    assert Rules(strict_citations=True).failure(elsewhere) == "not carried by what it cites"


def test_no_claims_are_never_verified_and_a_score_that_is_missing_is_no_score() -> None:
    assert not Audit("empty", "", ()).passed
    assert Rules(min_score=0.1).failure(Verdict(Label.SUPPORTED)) != ""


def test_the_summary_names_only_what_occurred() -> None:
    assert audit().summary == "1 of 3 claims supported, 1 contradicted, 1 unverified"
    assert audit(claims=audit().claims[:1]).summary == "1 of 1 claim supported"


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────


def test_json_is_versioned_complete_and_its_spans_are_exact() -> None:
    document = json.loads(json.dumps(to_json(audit()), allow_nan=False))
    assert (document["format"], document["version"], document["passed"]) == ("veridical-verification", 1, False)
    assert document["summary"] == {
        "claims": 3, "supported": 1, "contradicted": 1, "unverified": 1, "failed": 2, "conflicts": 0,
    }  # fmt: skip
    for claim in document["claims"]:
        start, end = claim["span"]
        assert document["text"][start:end].startswith(claim["text"][:-1])
    first = document["claims"][0]["evidence"]
    start, end = first["source"]["span"]
    assert PASSAGE.text[start - 100 : end - 100] == first["text"]
    assert document["claims"][1]["findings"][0]["kind"] == "number"
    assert document["invalid_marks"] == [7]


def test_a_score_that_is_no_number_becomes_null() -> None:
    odd = replace(audit().claims[0], verdict=Verdict(Label.SUPPORTED, float("nan")))
    assert '"score": null' in json.dumps(to_json(audit(claims=(odd,))), allow_nan=False)


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


class Seen(HTMLParser):
    """The tags, ids, links and visible text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.attributes |= set(given)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [given["href"] or ""] if "href" in given else []

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_links_every_claim_to_its_evidence_and_back() -> None:
    seen = Seen(render_page(audit()))
    assert {"c1", "e1", "c2", "e2", "c3", "e3", "s1"} <= set(seen.ids)
    assert len(seen.ids) == len(set(seen.ids))
    assert all(link.removeprefix("#") in seen.ids for link in seen.links)


def test_the_evidence_is_marked_within_its_passage() -> None:
    page = render_page(audit())
    assert "It was slow. <mark>The bridge opened in 1913.</mark> It has five arches." in page
    assert "/docs/1.md" in page
    assert ":113-139" in page
    assert "nine is not in the cited passage" in page


def test_the_page_asks_nothing_of_the_network_and_runs_nothing() -> None:
    page = render_page(audit(sources=(Numbered(1, "d1", "T", "https://example.org/a?b=1&c=2"),)))
    seen = Seen(page)
    assert not {"script", "img", "link", "iframe", "object", "embed", "form", "base"} & set(seen.tags)
    assert not {name for name in seen.attributes if name.startswith("on") or name == "src"}
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page
    assert "https://example.org/a?b=1&c=2" in seen.links


EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>\' "'


def test_nothing_in_texts_titles_or_names_becomes_markup() -> None:
    said = Evidence(EVIL, Citation(1, "none", "d1", EVIL, "javascript:alert(1)", Span(0, 9), heading=(EVIL,)))
    finding = Finding("quote", EVIL, EVIL + "!")
    verdict = Verdict(Label.SUPPORTED, 0.9, said, EVIL, repair=(said.source,), findings=(finding,))
    evil = Audit(
        EVIL, EVIL, (Claim(EVIL, Span(0, len(EVIL)), (said.source,), verdict),), EVIL, EVIL,
        (Numbered(1, "d1", EVIL, "javascript:alert(1)"),), conflicts=(Conflict(EVIL, said, said),), notes=(EVIL,),
    )  # fmt: skip
    seen = Seen(render_page(evil))
    assert "script" not in seen.tags
    assert "img" not in seen.tags
    assert all(link.startswith("#") for link in seen.links)
    assert seen.text.count('<script>alert("x")</script>') > 8


def test_right_to_left_text_has_its_direction_and_override_characters_are_left_out() -> None:
    text = "افتتح الجسر عام ١٩١٣.\n\nThe bridge \u202eopened\x00 in 1913."
    arabic, english = text.split("\n\n")
    claims = (Claim(arabic, span(arabic, text)), Claim(english, span(english, text)))
    page = render_page(Audit("a", text, claims))
    assert '<p dir="rtl"><a class="claim unverified" id="c1" href="#e1" dir="rtl">افتتح' in page
    assert '<p dir="ltr"><a class="claim unverified" id="c2" href="#e2" dir="ltr">The bridge opened in' in page
    assert "\u202e" not in page
    assert "\x00" not in page


def test_long_passages_are_cut_around_the_evidence() -> None:
    long = replace(PASSAGE, text="word " * 4000 + PASSAGE.text + " word" * 4000, span=Span(0, 40_059))
    at = Span(20_000 + 13, 20_000 + 39)
    said = Evidence("The bridge opened in 1913.", replace(evidence("It was slow.").source, span=at))
    claim = replace(audit().claims[0], verdict=Verdict(Label.SUPPORTED, 0.9, said))
    page = render_page(audit(claims=(claim,), passages={"p1": long}))
    assert "<mark>The bridge opened in 1913.</mark>" in page
    assert len(page) < 20_000


def test_a_span_that_misses_its_passage_still_quotes_the_evidence() -> None:
    said = Evidence("Elsewhere.", replace(evidence("It was slow.").source, span=Span(5000, 5010)))
    claim = replace(audit().claims[0], verdict=Verdict(Label.SUPPORTED, 0.9, said))
    assert "<mark>Elsewhere.</mark>" in render_page(audit(claims=(claim,)))


def test_it_reads_in_the_dark_on_a_phone_and_on_paper() -> None:
    page = render_page(audit())
    for wanted in ("prefers-color-scheme: dark", "@media print", "max-width: 56rem", "width=device-width"):
        assert wanted in page


@given(st.text(), st.lists(st.integers(0, 60), max_size=8))
def test_any_text_with_any_claims_is_shown_whole_and_once(text: str, cuts: list[int]) -> None:
    edges = sorted({min(cut, len(text)) for cut in cuts})
    spans = [Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    page = render_page(Audit("a", text, tuple(Claim(one.of(text), one) for one in spans)))
    shown = page.partition("<h2>The text</h2>")[2].partition("</section>")[0]
    seen = Seen(re.sub(r"<sup>.*?</sup>", "", shown))
    unsafe = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
    assert "".join(seen.text.split()) == "".join(re.sub(unsafe, "", text).split())
