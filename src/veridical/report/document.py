"""An audit as one JSON document: versioned, and every span exact.

Spans of claims point into `text`, those of citations and evidence into the extracted text of their document.
"""

from __future__ import annotations

import math

from veridical.report.audit import Audit
from veridical.types import Citation, Claim, Evidence, Json, Span

FORMAT, VERSION = "veridical-verification", 1


def to_json(audit: Audit) -> dict[str, Json]:
    """A value that `json.dumps` takes as it is. A number that is none becomes null."""
    failures = audit.failures
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": audit.name,
        "against": audit.against,
        "judge": audit.judge,
        "threshold": audit.threshold,
        "passed": audit.passed,
        "summary": {
            "claims": len(audit.claims),
            **{label.value: number for label, number in audit.tally.items()},
            "failed": sum(map(bool, failures)),
            "conflicts": len(audit.conflicts),
        },
        "rules": {
            "min_score": audit.rules.min_score,
            "allow_unverified": audit.rules.allow_unverified,
            "strict_citations": audit.rules.strict_citations,
            "fail_on_conflict": audit.rules.fail_on_conflict,
        },
        "text": audit.text,
        "claims": [_claim(claim, failure) for claim, failure in zip(audit.claims, failures, strict=True)],
        "conflicts": [
            {"claim": conflict.claim, "one": _evidence(conflict.one), "other": _evidence(conflict.other)}
            for conflict in audit.conflicts
        ],
        "sources": [
            {
                "number": source.number,
                "document_id": source.document_id,
                "title": source.title,
                "uri": source.uri,
                "named": source.named,
            }
            for source in audit.sources
        ],
        "skipped": [_span(span) for span in audit.skipped],
        "invalid_marks": list(audit.invalid_marks),
        "notes": list(audit.notes),
    }


def _claim(claim: Claim, failure: str) -> Json:
    verdict = claim.verdict
    score = verdict.score if verdict.score is not None and math.isfinite(verdict.score) else None
    return {
        "text": claim.text,
        "span": _span(claim.span),
        "label": verdict.label.value,
        "score": score,
        "passed": not failure,
        "failure": failure,
        "reason": verdict.reason,
        "cited": verdict.cited,
        "citations": [_citation(citation) for citation in claim.citations],
        "evidence": _evidence(verdict.evidence) if verdict.evidence else None,
        "repair": [_citation(citation) for citation in verdict.repair],
        "findings": [
            {"kind": finding.kind, "text": finding.text, "reason": finding.reason} for finding in verdict.findings
        ],
    }


def _evidence(evidence: Evidence) -> Json:
    return {"text": evidence.text, "source": _citation(evidence.source)}


def _citation(citation: Citation) -> Json:
    return {
        "mark": citation.mark,
        "passage_id": citation.passage_id,
        "document_id": citation.document_id,
        "title": citation.title,
        "uri": citation.uri,
        "span": _span(citation.span),
        "page": citation.page,
        "heading": list(citation.heading),
    }


def _span(span: Span) -> Json:
    return [span.start, span.end]
