"""Laws of the checks, for any texts at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from veridical.checks import find_findings, is_hard
from veridical.checks.dates import find_dates
from veridical.checks.matching import match_sentences
from veridical.checks.names import find_names
from veridical.checks.negation import find_negations
from veridical.checks.numbers import find_numbers
from veridical.checks.opposites import find_opposites
from veridical.checks.order import find_exchanges
from veridical.checks.quotes import find_quotes

WORDS = (
    "1 12 1987 1,200 3.5 5 % $ € km miles million k th three twenty one hundred half March May 12/03/1987 1980s 10:30 "
    "not never no only failed n't Anna Ostrey Inc. the and of to about over between – - “ ” ‘ ’ … [ ] ( ) . , ? ! é ㏂ "
    "COVID- ½ ² 東京 İ ß rose fell before after daily weekly people g t"
)
PIECES = st.sampled_from([*WORDS.split(), '"'])
PROSE = st.lists(st.tuples(PIECES, st.sampled_from(["", " ", " ", "\n"])), max_size=30).map(
    lambda pairs: "".join(piece + space for piece, space in pairs)
)
TEXT = st.one_of(PROSE, st.text(max_size=120))


@given(TEXT)
def test_a_text_holds_all_it_says(text: str) -> None:
    assert find_findings(text, text) == ()


@given(TEXT)
def test_each_check_finds_nothing_in_a_text_against_itself(text: str) -> None:
    dates, dated = find_dates(text, text)
    assert dates == []
    assert list(find_numbers(text, text, dated)) == []
    assert list(find_quotes(text, text)) == []
    assert list(find_names(text, text)) == []
    matches = match_sentences(text, text)
    assert list(find_negations(matches)) == []
    assert list(find_opposites(matches)) == []
    assert list(find_exchanges(matches)) == []


@given(TEXT, TEXT)
def test_no_two_texts_raise_and_findings_are_told_once(claim: str, evidence: str) -> None:
    found = find_findings(claim, evidence)
    assert len(set(found)) == len(found)
    assert [is_hard(finding) for finding in found] == sorted((is_hard(finding) for finding in found), reverse=True)
    assert all(finding.text and finding.reason for finding in found)


@given(TEXT, TEXT)
def test_a_passage_within_other_text_still_carries_its_sentence(sentence: str, other: str) -> None:
    assert find_findings(sentence, f"{other} {sentence}\n{other}") == ()
