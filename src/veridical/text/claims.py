"""A draft's text taken apart into claims: one a sentence, each with the passages its marks name."""

from __future__ import annotations

import re

from veridical.text.items import is_item_sign, item_sign
from veridical.text.marks import parse_marks, strip_marks
from veridical.text.sentences import sentence_spans
from veridical.types import Citation, Claim, Draft, Passage, Span

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
    """The sentences that say something, in order; marks outside the draft's passages are ignored.

    The sign of a list item stays outside its claim: a judge would look for the number in the source.
    """
    claims = []
    for whole in sentence_spans(draft.text, language):
        span = Span(whole.start + len(item_sign(whole.of(draft.text))), whole.end)
        sentence = span.of(draft.text)
        text = strip_marks(sentence)
        if not _WORD.search(text) or is_item_sign(text):
            continue
        numbers = [n for n in parse_marks(sentence) if 1 <= n <= len(draft.passages)]
        claims.append(Claim(text, span, tuple(cite(n, draft.passages[n - 1]) for n in numbers)))
    return tuple(claims)
