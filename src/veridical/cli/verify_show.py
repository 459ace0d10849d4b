"""What checking a text found, as a person reads it in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.cli.printable import one_line, path_tail, printable, short_path
from veridical.cli.render import MARKS
from veridical.report import Audit, score_in_words
from veridical.report.quoting import on_one_line, shorten
from veridical.types import Claim, Evidence, Label

if TYPE_CHECKING:
    from veridical.cli.view import View

_STYLES = {Label.SUPPORTED: "green", Label.CONTRADICTED: "red", Label.UNVERIFIED: "yellow"}
_INDENT = "    "
_LONGEST_SENTENCE = 600  # characters shown of one; the JSON and the page have all


def show_audit(view: View, audit: Audit) -> None:
    """A sentence a line with its verdict in the gutter, why, and the evidence; then conflicts and the sum."""
    for claim, failure in zip(audit.claims, audit.failures, strict=True):
        _show_claim(view, audit.text, claim, failure)
    for conflict in audit.conflicts:
        view.line()
        view.hang("! ", f"the sources disagree about: {_short(conflict.claim)}", "yellow")
        _show_evidence(view, conflict.one)
        _show_evidence(view, conflict.other)
    view.line()
    if not view.quiet:
        for note in audit.notes:
            view.hang("· ", note, "dim")
    _show_sum(view, audit)


def _show_claim(view: View, text: str, claim: Claim, failure: str) -> None:
    from rich.text import Text

    verdict = claim.verdict
    said = Text(_short(claim.span.of(text)), style="strike" if verdict.label is Label.CONTRADICTED else "")
    said.highlight_regex(r"\[\d[\d,\s–-]*\]", "cyan")
    view.hang(Text(f"{MARKS[verdict.label]} ", style=f"bold {_STYLES[verdict.label]}"), said)
    if verdict.label is Label.SUPPORTED and verdict.cited and not failure and view.quiet:
        return
    said_of_it = ", ".join(filter(None, (verdict.label.value, score_in_words(verdict))))
    reason = one_line(verdict.reason)
    view.hang(_INDENT, f"{said_of_it}{': ' if reason else ''}{reason}", "dim")
    for finding in verdict.findings:
        if finding.reason not in verdict.reason:
            view.hang(_INDENT, one_line(finding.reason), "dim")
    if verdict.repair:
        marks = "".join(dict.fromkeys(f"[{citation.mark}]" for citation in verdict.repair))
        view.hang(_INDENT, f"to cite: {marks}", "cyan")
    if failure and failure != verdict.label:
        view.hang(_INDENT, f"fails: {failure}", "red")
    if verdict.evidence is not None:
        _show_evidence(view, verdict.evidence)


def _show_evidence(view: View, evidence: Evidence) -> None:
    from rich.text import Text

    source = evidence.source
    place = f"{short_path(source.uri)}:{source.span.start}-{source.span.end}"
    page = f", p. {source.page}" if source.page is not None else ""
    shown = path_tail(place, view.width - len(_INDENT) - len(page) - 6) if view.fancy else place
    view.hang(_INDENT, Text(f"“{shorten(on_one_line(printable(evidence.text)))}”", style="italic"))
    view.hang(_INDENT, Text.assemble((f"[{source.mark}] ", "cyan"), (f"{shown}{page}", "dim")))


def _show_sum(view: View, audit: Audit) -> None:
    from rich.text import Text

    failed = sum(map(bool, audit.failures))
    end = f"; {failed:,} {'fails' if failed == 1 else 'fail'}" if failed else ""
    end += "; sources that disagree fail it" if audit.conflicts_fail else ""
    view.line(Text(f"{audit.summary}{end}", style="bold green" if audit.passed else "bold red"))


def _short(text: str) -> str:
    flat = one_line(text)
    return flat if len(flat) <= _LONGEST_SENTENCE else f"{flat[:_LONGEST_SENTENCE]} …"
