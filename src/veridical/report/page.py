"""An audit as one HTML page: the text on the left, its evidence on the right.

The page asks nothing of the network and runs no script; its policy forbids both. Every string of the text and of
the documents is escaped, and what could hide or turn text (control and direction characters) is left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from html import escape as _escape
from importlib.resources import files
from typing import NamedTuple

from veridical.report.audit import Audit, Numbered, score_in_words
from veridical.report.quoting import on_one_line, shorten
from veridical.types import Citation, Claim, Conflict, Evidence, Finding, Label, Span

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_GLYPHS = {Label.SUPPORTED: "✓", Label.CONTRADICTED: "✗", Label.UNVERIFIED: "?"}
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
_AROUND = 400  # characters of a passage shown on each side of its evidence
_RIGHT_TO_LEFT = ("R", "AL")


def render_page(audit: Audit) -> str:
    """A whole HTML document in UTF-8."""
    style = files("veridical.report").joinpath("page.css").read_text(encoding="utf-8")
    parts = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        f"<title>{_safe(audit.name)}: {_safe(audit.summary)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n",
        _top(audit),
        '<main class="both">\n<section class="text">\n<h2>The text</h2>\n',
        *_paragraphs(audit),
        '</section>\n<section class="evidence">\n<h2>The evidence</h2>\n',
        *(_conflict(audit, conflict) for conflict in audit.conflicts),
        *(_card(audit, number, *one) for number, one in enumerate(zip(audit.claims, audit.failures, strict=True), 1)),
        "</section>\n</main>\n",
        _sources(audit.sources),
        _foot(audit),
        "</body>\n</html>\n",
    )
    return "".join(parts)


def _foot(audit: Audit) -> str:
    by = f", judge <code>{_safe(audit.judge)}</code>" if audit.judge else ""
    begins = "the threshold" if audit.threshold is None else f"the threshold {audit.threshold:.2f}"
    return (
        f"<footer>Checked by veridical{by}. The score, from 0 to 1, orders claims by how well a source carries them; "
        f"from {begins} on a claim counts as supported. Beside a contradicted claim stands how far it is supported "
        "all the same.</footer>\n"
    )


def _top(audit: Audit) -> str:
    outcome = "passed" if audit.passed else "failed"
    failed = sum(map(bool, audit.failures))
    detail = f" <b>{failed:,} {'claim fails' if failed == 1 else 'claims fail'}.</b>" if failed else ""
    detail += " <b>Sources that disagree fail it.</b>" if audit.conflicts_fail else ""
    bars = "".join(
        f'<i class="{label.value}" style="flex:{number}"></i>' for label, number in audit.tally.items() if number
    )
    rows = "".join(f"<li>{_safe(note)}</li>" for note in audit.notes)
    notes = f'<ul class="notes">{rows}</ul>\n' if rows else ""
    against = f"<p>checked against <bdi>{_safe(audit.against)}</bdi></p>\n" if audit.against else ""
    return (
        f'<header class="top">\n<h1><bdi>{_safe(audit.name)}</bdi></h1>\n{against}'
        f'<p class="said"><span class="outcome {outcome}">{outcome}</span>{_safe(audit.summary)}.{detail}</p>\n'
        f'<div class="meter" aria-hidden="true">{bars}</div>\n'
        f"{notes}</header>\n"
    )


# ── the text ─────────────────────────────────────────────────────────────────────────────────────


class _Piece(NamedTuple):
    span: Span
    html: str


def _paragraphs(audit: Audit) -> Iterator[str]:
    """The text in paragraphs, each with its own direction, claims linked to their evidence."""
    pieces = sorted(_pieces(audit), key=lambda piece: piece.span)
    start = first = last = 0
    for gap in [*_BLANK_LINE.finditer(audit.text), None]:
        end = gap.start() if gap else len(audit.text)
        while last < len(pieces) and pieces[last].span.start < end:
            last += 1
        if gap and last and pieces[last - 1].span.end > end:
            continue  # a claim that runs across the blank line keeps its paragraph open
        if audit.text[start:end].strip():
            body = _fill(audit.text, Span(start, end), pieces[first:last])
            yield f'<p dir="{_direction(audit.text[start:end])}">{body}</p>\n'
        start, first = gap.end() if gap else end, last


def _pieces(audit: Audit) -> Iterator[_Piece]:
    for number, claim in enumerate(audit.claims, 1):
        said, label = claim.span.of(audit.text), claim.verdict.label
        yield _Piece(
            claim.span,
            f'<a class="claim {label.value}" id="c{number}" href="#e{number}" dir="{_direction(said)}">'
            f"{_safe(said)}<sup>{_GLYPHS[label]}{number}</sup></a>",
        )
    for span in audit.skipped:
        yield _Piece(span, f'<span class="aside">{_safe(span.of(audit.text))}</span>')


def _fill(text: str, span: Span, pieces: list[_Piece]) -> str:
    out, at = [], span.start
    for piece in pieces:
        if piece.span.start < at:  # overlapping spans would show a stretch twice
            continue
        out += [_safe(text[at : piece.span.start]), piece.html]
        at = piece.span.end
    return "".join([*out, _safe(text[at : span.end])]).strip("\n")


# ── the evidence ─────────────────────────────────────────────────────────────────────────────────


def _card(audit: Audit, number: int, claim: Claim, failure: str) -> str:
    verdict = claim.verdict
    score = f"<small>{score_in_words(verdict)}</small>" if verdict.score is not None else ""
    label = verdict.label.value
    lines = [
        f'<article class="card {label}" id="e{number}">\n',
        f'<header><a href="#c{number}">{_GLYPHS[verdict.label]} {number}. {label.capitalize()}</a>{score}</header>\n',
        f'<p class="says" dir="{_direction(claim.text)}">{_safe(claim.text)}</p>\n',
        f'<p class="why">{_safe(verdict.reason)}</p>\n' if verdict.reason else "",
        *(f'<p class="why">{_safe(finding.reason)}</p>\n' for finding in _untold(claim)),
        f'<p class="why">{_repair(claim)}</p>\n' if verdict.repair else "",
        f'<p class="fails">Fails: {_safe(failure)}</p>\n' if failure and failure != label else "",
        _figure(audit, verdict.evidence) if verdict.evidence else "",
        "</article>\n",
    ]
    return "".join(lines)


def _untold(claim: Claim) -> list[Finding]:
    return [finding for finding in claim.verdict.findings if finding.reason not in claim.verdict.reason]


def _repair(claim: Claim) -> str:
    marks = ", ".join(dict.fromkeys(f"[{citation.mark}]" for citation in claim.verdict.repair))
    own = ", ".join(dict.fromkeys(f"[{citation.mark}]" for citation in claim.citations))
    return f"Cite {marks} instead of {own}." if own and own != marks else f"Cite {marks}."


def _conflict(audit: Audit, conflict: Conflict) -> str:
    return (
        '<article class="card unverified">\n<header>! The sources disagree</header>\n'
        f'<p class="says" dir="{_direction(conflict.claim)}">{_safe(conflict.claim)}</p>\n'
        f"{_figure(audit, conflict.one)}{_figure(audit, conflict.other)}</article>\n"
    )


def _figure(audit: Audit, evidence: Evidence) -> str:
    """The evidence marked within its passage; one that is too long ends with … and nothing behind it."""
    passage = audit.passages.get(evidence.source.passage_id)
    before, said, after = "", evidence.text, ""
    if passage is not None:
        inner = evidence.source.span.shift(-passage.span.start)
        if 0 <= inner.start < inner.end <= len(passage.text):
            said = inner.of(passage.text)
            before, after = passage.text[: inner.start], passage.text[inner.end :]
    flat = on_one_line(said)
    shown = shorten(flat)
    before, after = _shorten(on_one_line(before), on_one_line(after) if shown == flat else "")
    quote = " ".join(part for part in (_safe(before), f"<mark>{_safe(shown)}</mark>", _safe(after)) if part)
    caption = f"<figcaption>{_place(evidence.source)}</figcaption>"
    return f'<figure><blockquote dir="{_direction(said)}">{quote}</blockquote>{caption}</figure>\n'


def _shorten(before: str, after: str) -> tuple[str, str]:
    """At most `_AROUND` characters on each side, cut at a space where there is one."""
    if len(before) > _AROUND:
        cut = before.find(" ", len(before) - _AROUND)
        before = "… " + before[cut + 1 if cut >= 0 else -_AROUND :]
    if len(after) > _AROUND:
        cut = after.rfind(" ", 0, _AROUND)
        after = after[: cut if cut >= 0 else _AROUND] + " …"
    return before, after


def _place(source: Citation) -> str:
    heading = [part for part in source.heading if part not in source.title]
    name = " › ".join(part for part in (source.title, *heading) if part)
    page = f", p. {source.page}" if source.page is not None else ""
    link = _linked(source.uri, source.uri, f":{source.span.start}-{source.span.end}")
    mark = f'<a href="#s{source.mark}">[{source.mark}]</a> ' if source.mark else ""
    return f"{mark}<bdi>{_safe(name)}</bdi>{page} — {link}"


def _sources(sources: tuple[Numbered, ...]) -> str:
    if not sources:
        return ""
    rows = "".join(
        f'<li id="s{source.number}">[{source.number}] <bdi>{_safe(source.title)}</bdi> — '
        f"{_linked(source.uri, source.uri)}</li>\n"
        for source in sources
    )
    return f'<section class="sources">\n<h2>The sources</h2>\n<ol>\n{rows}</ol>\n</section>\n'


def _linked(uri: str, shown: str, place: str = "") -> str:
    """A link for web addresses alone: any other scheme in a document's name is text."""
    at = f'<span class="at">{place}</span>' if place else ""
    code = f"<code><bdi>{_safe(shown)}</bdi>{at}</code>"
    if re.match(r"https?://", uri):
        return f'<a href="{_safe(uri)}" rel="noreferrer noopener">{code}</a>'
    return code


def _safe(text: str) -> str:
    return _escape(_UNSAFE.sub("", text))


def _direction(text: str) -> str:
    """By the first character that has one; `dir=auto` would not look into nested elements."""
    for kind in map(unicodedata.bidirectional, text):
        if kind in _RIGHT_TO_LEFT:
            return "rtl"
        if kind == "L":
            return "ltr"
    return "ltr"
