"""Opposites, exchanged words, and what a passage puts around a statement."""

from __future__ import annotations

import pytest

from veridical.checks import find_findings, is_hard


def found(claim: str, evidence: str) -> list[tuple[str, str]]:
    return [(finding.kind, finding.reason) for finding in find_findings(claim, evidence)]


@pytest.mark.parametrize(
    ("claim", "evidence", "mine", "theirs"),
    [
        ("Turnover fell in the third quarter.", "Turnover rose in the third quarter.", "fell", "rose"),
        ("Net profit rose by 12%.", "Turnover rose by 9%, while net profit fell by 12%.", "rose", "fell"),
        ("Take 20 mg once weekly.", "Take 20 mg once daily.", "weekly", "daily"),
        ("Take 20 mg twice daily.", "Take 20 mg once daily.", "twice", "once"),
        ("The diastolic limit is 140.", "The systolic limit is 140.", "diastolic", "systolic"),
        ("The dose for children is 20 mg.", "The dose for adults is 20 mg.", "children", "adults"),
        ("The ship sank before the storm.", "The ship sank after the storm.", "before", "after"),
        ("Imports of steel rose in spring.", "Exports of steel rose in spring.", "imports", "exports"),
        ("The store is open on Sundays.", "The store is closed on Sundays.", "open", "closed"),
        (
            "The council rejected the new bridge.",
            "In May, the council approved the new bridge.",
            "rejected",
            "approved",
        ),
        ("The wind blows from the north in May.", "The wind blows from the south in May.", "north", "south"),
    ],
)
def test_the_opposite_of_the_same_sentence_is_hard(claim: str, evidence: str, mine: str, theirs: str) -> None:
    assert found(claim, evidence) == [("opposite", f"the passage says “{theirs}”, the claim “{mine}”")]
    assert all(map(is_hard, find_findings(claim, evidence)))


def test_the_opposite_of_much_the_same_sentence_is_soft() -> None:
    claim = "Turnover in the northern branch fell during the quarter, say auditors."
    evidence = "Turnover in the northern branch rose that quarter."
    assert [kind for kind, _ in found(claim, evidence)] == ["polarity"]


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Anna arrived before Peter left.", "Peter left after Anna arrived."),
        ("Turnover did not fall in the third quarter.", "Turnover rose in the third quarter."),
        ("Turnover fell in the third quarter.", "Turnover rose in spring. In the third quarter, turnover fell."),
        ("Turnover grew in the third quarter.", "Turnover rose in the third quarter."),
        ("Bread prices fell in winter.", "Rents rose in the town by the sea, far away."),
        ("A child eats with no hands.", "A child eats without using its hands."),
    ],
)
def test_what_is_no_opposite_is_left_alone(claim: str, evidence: str) -> None:
    assert found(claim, evidence) == []


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Turnover rose from $4.8 million in 2021 to $3.2 million in 2023.", None),
        ("Turnover rose from $3.2 million in 2023 to $4.8 million in 2021.", None),
        ("The town has 300 men and 200 women.", "The town has 200 men and 300 women."),
        ("Sales fell in spring and rose in autumn.", "Sales rose in spring and fell in autumn."),
        ("Brandt sold the old mill to Ostrey.", "Ostrey sold the old mill to Brandt."),
    ],
)
def test_words_that_changed_places_are_hard(claim: str, evidence: str | None) -> None:
    passage = evidence or "Turnover rose from $3.2 million in 2021 to $4.8 million in 2023, and profit by 12%."
    (finding,) = find_findings(claim, passage)
    assert finding.kind == "order"
    assert "the other way round" in finding.reason
    assert is_hard(finding)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        (
            "Turnover rose to $4.8 million in 2023 from $3.2 million in 2021.",
            "Turnover rose from $3.2 million in 2021 to $4.8 million in 2023.",
        ),
        ("The mill was sold by Ostrey to Brandt.", "Ostrey sold the mill to Brandt."),
        ("Anna Brandt married Peter Ostrey.", "Peter Ostrey married Anna Brandt."),
        ("The man and the woman sit by the mill.", "The woman and the man sit by the mill."),
        ("There are 200 women and 300 men in town.", "There are 300 men and 200 women in town."),
    ],
)
def test_another_order_that_says_the_same_is_left_alone(claim: str, evidence: str) -> None:
    assert found(claim, evidence) == []


@pytest.mark.parametrize(
    ("claim", "evidence", "cue"),
    [
        ("Goldfish forget all within seconds.", "It is a myth that goldfish forget all within seconds.", "myth"),
        ("The pill cures the common cold.", "That the pill cures the common cold has been refuted.", "refuted"),
        ("The pill cures the common cold.", "It is false that the pill cures the common cold.", "false that"),
        ("The mayor took money from a builder.", "The mayor denied that he took money from a builder.", "denied that"),
        ("The council will build a new bridge.", "If the tax passes, the council will build a new bridge.", "if"),
        ("The council will build a new bridge.", "The council will build a new bridge if the tax passes.", "if"),
        ("The firm opened a plant in Leeds.", "The firm hopes to open a plant in Leeds.", "hopes to"),
        ("The firm opened a plant in Leeds.", "The firm planned to open a plant in Leeds.", "planned to"),
    ],
)
def test_what_the_passage_denies_or_makes_conditional_is_hard(claim: str, evidence: str, cue: str) -> None:
    assert found(claim, evidence) == [("frame", f"the passage has it only with “{cue}”")]
    assert all(map(is_hard, find_findings(claim, evidence)))


@pytest.mark.parametrize(
    "evidence",
    [
        "The mayor is alleged to have taken money from the builder.",
        "The mayor may have taken money from the builder.",
        "It is rumoured that the mayor took money from the builder.",
    ],
)
def test_what_the_passage_leaves_open_is_soft(evidence: str) -> None:
    (finding,) = find_findings("The mayor has taken money from the builder.", evidence)
    assert (finding.kind, finding.text) == ("report", "The mayor has taken money from the builder.")
    assert not is_hard(finding)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The pill might cure the common cold.", "The pill may cure the common cold."),
        ("It is a myth that the pill cures colds.", "That the pill cures colds is a myth."),
        ("The firm wants to open a plant in Leeds.", "The firm hopes to open a plant in Leeds."),
        ("The pill cures the common cold.", "It is a myth that the pill is new. The pill cures the common cold."),
        ("The council built a new bridge in May.", "In May the council built a new bridge."),
        ("The council built a new bridge.", "The council built a new bridge, but nobody knows if it will last."),
        ("Cold water turns into ice.", "If you cool water enough, it turns into ice."),
    ],
)
def test_a_statement_that_is_made_outright_or_guarded_alike_is_left_alone(claim: str, evidence: str) -> None:
    assert found(claim, evidence) == []
