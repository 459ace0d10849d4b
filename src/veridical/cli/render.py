"""Answers, sources, passages and reports as a person reads them. All text of documents is made printable first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from veridical.cli.printable import one_line, path_tail, printable, query_words, short_path, snippet
from veridical.text.items import is_item_sign
from veridical.text.marks import format_marks
from veridical.types import Answer, Citation, Claim, Document, Label, Passage, Span, Status

if TYPE_CHECKING:
    from veridical.cli.view import View
    from veridical.ingest import Report

MARKS = {Label.SUPPORTED: "✓", Label.CONTRADICTED: "✗", Label.UNVERIFIED: "?"}
STYLES = {Label.SUPPORTED: "bold green", Label.CONTRADICTED: "bold red", Label.UNVERIFIED: "bold yellow"}
_SENTENCES = {Label.SUPPORTED: "", Label.CONTRADICTED: "strike red", Label.UNVERIFIED: "strike dim"}
_LEGEND = {Label.SUPPORTED: "supported", Label.CONTRADICTED: "contradicted", Label.UNVERIFIED: "unverified"}
_REPAIRED = "citation "  # how the reason of a verdict begins that tells of a repair
_CITED = re.compile(r"\[\d+\]")
_QUOTED = 240  # characters of evidence quoted below a sentence
_AROUND = 600  # characters shown on each side of a span


def legend() -> str:
    return "  ".join(f"{MARKS[label]} {_LEGEND[label]}" for label in Label)


# ── answers ──────────────────────────────────────────────────────────────────────────────────────


def show_answer(view: View, answer: Answer, *, verbose: bool = False) -> None:
    """One sentence a line, its verdict in the gutter; then the sources that were cited.

    What is not supported is struck. `verbose` adds every score and its evidence, and the draft of an abstention.
    """
    if answer.status is Status.ABSTAINED:
        _show_abstention(view, answer, verbose=verbose)
        return
    at = 0
    for claim in answer.claims:
        between, sign = _part_sign(answer.text[at : claim.span.start])
        _show_between(view, between)
        show_claim(view, claim, sign + claim.span.of(answer.text), verbose=verbose)
        at = claim.span.end
    _show_between(view, answer.text[at:])
    if answer.status is Status.PARTIAL and answer.reason:
        view.line(f"Only in part: {one_line(answer.reason)}", "yellow")
    _show_conflicts(view, answer)
    show_sources(view, answer)


def _show_abstention(view: View, answer: Answer, *, verbose: bool) -> None:
    view.line(f"I don't know: {one_line(answer.reason) or 'the documents hold no answer'}", "bold")
    if not verbose and answer.claims and not view.quiet:
        view.line(f"{count(len(answer.claims), 'unsupported sentence')} withheld; ask --verbose shows them", "dim")
    for claim in answer.claims if verbose else ():
        marks = format_marks(citation.mark for citation in claim.citations)
        show_claim(view, claim, f"{claim.text} {marks}", verbose=True)


def _part_sign(between: str) -> tuple[str, str]:
    """What stands between two claims, and the sign of the list item that the second one is."""
    start = between.rfind("\n") + 1
    sign = between[start:].lstrip()
    return (between[:start], sign) if is_item_sign(sign) else (between, "")


def _show_between(view: View, text: str) -> None:
    if re.search(r"\w", text):
        view.hang("  ", one_line(text))


def show_claim(view: View, claim: Claim, sentence: str, *, verbose: bool = False) -> None:
    """The sentence behind its verdict; below it what is wrong with it, or that its citation was repaired."""
    from rich.text import Text

    label = claim.verdict.label
    shown = one_line(sentence)
    if label is not Label.SUPPORTED and not view.fancy:
        shown = f"~~{shown}~~"
    body = Text(shown, style=_SENTENCES[label])
    if label is Label.SUPPORTED:
        body.highlight_regex(_CITED, "cyan")
    view.hang(Text(f"{MARKS[label]} ", style=STYLES[label]), body)
    for note in _notes(claim, verbose=verbose):
        view.hang("    ", note, "dim")


def _notes(claim: Claim, *, verbose: bool) -> Iterator[str]:
    verdict = claim.verdict
    if verdict.label is not Label.SUPPORTED:
        yield f"{_LEGEND[verdict.label]}: {one_line(verdict.reason) or 'nothing was found to say so'}"
    elif verdict.repair or verdict.reason.startswith(_REPAIRED):
        yield one_line(verdict.reason)
    if verdict.evidence and (verbose or verdict.label is Label.CONTRADICTED):
        said = snippet(verdict.evidence.text, query_words(claim.text), _QUOTED)
        yield f"[{verdict.evidence.source.mark}] “{said}”"
    if verbose:
        from veridical.report import score_in_words

        yield score_in_words(verdict) or "no score"


def _show_conflicts(view: View, answer: Answer) -> None:
    from rich.text import Text

    from veridical.report import distinct

    for conflict in distinct(answer.conflicts):
        view.hang(Text("! ", style="bold yellow"), f"the sources disagree about: {one_line(conflict.claim)}")
        for side in (conflict.one, conflict.other):
            said = snippet(side.text, query_words(conflict.claim), _QUOTED)
            view.hang(Text(f"    [{side.source.mark}] ", style="cyan"), f"“{said}”", "dim")


def show_sources(view: View, answer: Answer) -> None:
    """Those that a sentence cites or that speak against one; the others are counted."""
    named = {citation.mark for claim in answer.claims for citation in claim.citations}
    named |= {claim.verdict.evidence.source.mark for claim in answer.claims if claim.verdict.evidence}
    named |= {side.source.mark for conflict in answer.conflicts for side in (conflict.one, conflict.other)}
    view.line()
    for source in answer.sources:
        if source.mark in named:
            show_source(view, source, evidence_span(answer, source.mark))
    others = len(answer.sources) - len(named)
    if others:
        view.line(f"    {count(others, 'other passage')} read, not cited", "dim")


def show_source(view: View, source: Citation, span: Span) -> None:
    from rich.text import Text

    mark, place = f"[{source.mark}] ", f"{short_path(source.uri)}:{span.start}-{span.end}"
    # A path that does not fit beside the title is easier to read, and to copy, on a line of its own.
    fits = not view.fancy or len(mark) + len(source_name(source)) + 3 + len(place) <= view.width
    shown = f" — {place}" if fits else f"\n{path_tail(place, view.width - len(mark))}"
    body = Text.assemble(source_name(source), (shown, "dim"))
    view.hang(Text(mark, style="cyan"), body)


def source_name(source: Citation | Passage) -> str:
    """`Title › Heading, p. 3`, without headings that only repeat the title."""
    heading = [part for part in source.heading if part not in source.title]
    name = " › ".join(one_line(part) for part in (source.title, *heading) if part) or short_path(source.uri)
    return f"{name}, p. {source.page}" if source.page is not None else name


def evidence_span(answer: Answer, mark: int) -> Span:
    """The sentence that source `mark` supports a claim with; the whole passage when none was found."""
    for claim in answer.claims:
        evidence = claim.verdict.evidence
        if evidence is not None and evidence.source.mark == mark:
            return evidence.source.span
    return next(source.span for source in answer.sources if source.mark == mark)


def open_hint(answer: Answer, again: str = "") -> str:
    """The command that opens a cited source at its place, a supported sentence's first; empty when none was cited."""
    for claim in sorted(answer.claims, key=lambda claim: claim.verdict.label is not Label.SUPPORTED):
        for citation in claim.citations[:1]:
            span = evidence_span(answer, citation.mark)
            return (
                f"open [{citation.mark}]: veridical open {citation.document_id} --span {span.start}-{span.end}{again}"
            )
    return ""


# ── passages and documents ───────────────────────────────────────────────────────────────────────


def show_passages(view: View, passages: Sequence[Passage], query: str, length: int = 240) -> None:
    """Numbered as ranked, each with its place, its score and the part that resembles the query."""
    from rich.text import Text

    words = query_words(query)
    for number, passage in enumerate(passages, 1):
        gutter = f"{number:>2}. "
        view.hang(gutter, Text.assemble((source_name(passage), "bold"), (f"  {passage.score:.3f}", "dim")))
        body = Text(snippet(passage.text, words, length))
        if words:
            body.highlight_regex(_any_of(words), "bold cyan")
        view.hang("    ", body)
        place = f"{short_path(passage.uri)}:{passage.span.start}-{passage.span.end}"
        again = f"  (and {count(len(passage.also_in), 'near-duplicate')})" if passage.also_in else ""
        shown = path_tail(place, view.width - len(gutter) - len(again)) if view.fancy else place
        view.hang("    ", f"{shown}{again}", "dim")


def _any_of(words: frozenset[str]) -> re.Pattern[str]:
    # The stem's beginning is enough to point at "opened" for "opening".
    stems = sorted({word[: max(4, len(word) - 3)] for word in words}, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, stems))})\w*", re.IGNORECASE)


def show_document(view: View, document: Document, span: Span | None) -> None:
    """The text around `span`, which is marked (» « in a pipe); the whole text without one."""
    from rich.text import Text

    whole = Span(0, len(document.text))
    span_ = span or whole
    first = max(0, document.text.rfind("\n", 0, max(0, span_.start - _AROUND)) + 1) if span else 0
    end = document.text.find("\n", min(len(document.text), span_.end + _AROUND)) if span else -1
    last = end if end >= 0 else len(document.text)
    before, after = document.text[first : span_.start], document.text[span_.end : last]
    middle = printable(span_.of(document.text))
    if span and not view.fancy:
        middle = f"»{middle}«"
    view.line(Text(one_line(document.title) or document.id, style="bold"))
    page = f", p. {page_at(document, span_.start)}" if document.pages else ""
    view.line(f"{short_path(document.uri)}:{span_.start}-{span_.end}{page}", "dim")
    view.line()
    body = Text.assemble(
        "… " if first else "",
        printable(before),
        (middle, "bold black on yellow" if span else ""),
        printable(after),
        " …" if last < len(document.text) else "",
    )
    view.line(body)


def page_at(document: Document, offset: int) -> int:
    return sum(1 for start in document.pages if start <= offset)


# ── reports ──────────────────────────────────────────────────────────────────────────────────────


def show_report(view: View, report: Report) -> None:
    """What happened to the sources, then a table of those that were refused and why."""
    counts = [
        (report.added, "added"),
        (report.updated, "updated"),
        (report.unchanged, "unchanged"),
        (report.removed, "removed"),
        (len(report.refused), "refused"),
    ]
    said = ", ".join(f"{number:,} {word}" for number, word in counts if number) or (
        "brought up to date" if report.passages else "nothing to do"
    )
    size = f"{count(report.documents, 'document')}, {count(report.passages, 'passage')}"
    if not view.quiet:
        view.line(f"{said} ({size}) in {seconds(report.seconds)}")
    for uri, warning in report.warnings:
        view.warn(f"{short_path(uri)}: {warning}")
    if report.refused:
        view.line()
        rows = [(short_path(refused.uri), refused.reason, refused.fix) for refused in report.refused]
        view.table(("refused", "reason", "what to do"), rows)


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def seconds(duration: float) -> str:
    return f"{duration:.1f} s" if duration < 60 else f"{int(duration // 60)} min {int(duration % 60)} s"


def size(number: float) -> str:
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 10 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
