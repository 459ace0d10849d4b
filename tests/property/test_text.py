"""Laws of the text functions, for any text at all."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from veridical.text.claims import find_claims
from veridical.text.marks import format_marks, keep_valid_marks, mark_spans, parse_marks, strip_marks
from veridical.text.sentences import sentence_spans
from veridical.types import Draft, Passage, Span

NUMBERS = st.lists(st.integers(1, 99), unique=True, max_size=6)
TEXT = st.text(alphabet=st.sampled_from("ab Z.!?\n[]123,-–|中。 "), max_size=200)


@given(NUMBERS)
def test_marks_parse_and_format_as_inverses(numbers: list[int]) -> None:
    assert list(parse_marks(format_marks(numbers))) == numbers


@given(TEXT, st.integers(0, 9))
def test_what_is_kept_is_valid_and_keeping_again_changes_nothing(text: str, passages: int) -> None:
    clean, _ = keep_valid_marks(text, passages)
    assert all(1 <= number <= passages for number in parse_marks(clean))
    assert keep_valid_marks(clean, passages) == (clean, 0)


@given(TEXT)
def test_stripping_takes_marks_and_white_space_only(text: str) -> None:
    kept, at = "", 0
    for span in mark_spans(text):
        kept, at = kept + text[at : span.start], span.end
    assert "".join(strip_marks(text).split()) == "".join((kept + text[at:]).split())
    if not mark_spans(text):
        assert strip_marks(text) == text.strip()


@given(st.one_of(TEXT, st.text(max_size=200), st.text(st.characters(categories=["Cs", "Lu", "Po"]), max_size=40)))
def test_sentences_are_ordered_disjoint_and_hold_every_word(text: str) -> None:
    spans = sentence_spans(text)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    outside = Span(0, spans[0].start).of(text) + Span(spans[-1].end, len(text)).of(text) if spans else text
    outside += "".join(text[a.end : b.start] for a, b in pairwise(spans))
    assert not re.search(r"\w", outside)


@given(TEXT)
def test_claims_cite_only_passages_they_were_given(text: str) -> None:
    passages = tuple(Passage(f"d:{i}", "d", "x", Span(0, 1)) for i in range(3))
    for claim in find_claims(Draft(text, passages)):
        assert {c.passage_id for c in claim.citations} <= {p.id for p in passages}
        assert text[claim.span.start : claim.span.end].strip()
