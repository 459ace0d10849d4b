"""A draft's text taken apart into claims: one a sentence, each with the passages its marks name."""

from __future__ import annotations

import re

from veridical.text.marks import parse_marks, strip_marks
from veridical.text.sentences import sentence_spans
from veridical.types import Citation, Claim, Draft, Passage

_WORD = re.compile(r"\w")


def cite(mark: int, passage: Passage) -> Citation:
    return Citation(
        mark=mark,
        passage_id=passage.id,
        document_id=passage.document_id,
        title=passage.title,
        uri=passage.uri,
        span=passage.span,
        page=passage.page,
        heading=passage.heading,
    )


def find_claims(draft: Draft, language: str = "en") -> tuple[Claim, ...]:
    """The sentences that say something, in order; marks outside the draft's passages are ignored."""
    claims = []
    for span in sentence_spans(draft.text, language):
        sentence = span.of(draft.text)
        text = strip_marks(sentence)
        if not _WORD.search(text):
            continue
        numbers = [n for n in parse_marks(sentence) if 1 <= n <= len(draft.passages)]
        claims.append(Claim(text, span, tuple(cite(n, draft.passages[n - 1]) for n in numbers)))
    return tuple(claims)
