"""Numbers, units and quotes of a claim against its passage: what is named, and what must not be."""

from __future__ import annotations

import pytest

from veridical.checks import HARD, find_findings, is_hard
from veridical.types import Finding


def reasons(claim: str, evidence: str) -> list[str]:
    return [finding.reason for finding in find_findings(claim, evidence)]


def hard(claim: str, evidence: str) -> list[tuple[str, str]]:
    return [(finding.kind, finding.text) for finding in find_findings(claim, evidence) if is_hard(finding)]


SAME_NUMBER = [
    ("The mill employs 1200 people.", "Some 1,200 people work in the mill."),
    ("The mill employs 1.2 thousand people.", "The mill has 1,200 workers."),
    ("The channel has 1.2k readers.", "The channel counts 1,200 readers."),
    ("They sold 3 million lamps.", "Sales reached 3,000,000 lamps."),
    ("They sold three million lamps.", "Sales reached 3m lamps."),
    ("The choir has twenty-one singers.", "There are 21 singers in the choir."),
    ("The tower has 250 steps.", "Two hundred and fifty steps lead up the tower."),
    ("She finished third.", "She came in 3rd in the final."),
    ("The 21st street fair was rained off.", "Rain ended the twenty-first street fair."),
    ("50% of the seats were empty.", "Of all seats, 50 percent stayed empty."),
    ("50 percent of the seats were empty.", "Half the seats were empty."),
    ("Half of the seats were empty.", "Every other seat stayed empty."),
    ("The dose is 3.5 mg.", "Patients take 3.50 mg."),
    ("It takes 10–12 days.", "Delivery takes between 10 and 12 days."),
    ("It costs between 10 and 20 crowns.", "A ticket costs 14 crowns."),
    ("The sale brought $5m.", "The house was sold for 5 million dollars."),
    ("The sale brought $5 million.", "It went for $5-6 million."),
    ("About 1,200 people came.", "The gate counted 1,198 visitors."),
    ("Over 1,000 people came.", "The gate counted 1,198 visitors."),
    ("More than $40 was paid.", "They paid $42.50."),
    ("Nearly 1,200 people came.", "The gate counted 1,187 visitors."),
    ("At least 40 boats sank.", "The storm sank 43 boats."),
    ("The lake lies at about 1,200 m.", "The lake lies 1,198 metres above the sea."),
    ("Sales came to 4.8 million.", "Sales came to 4.83 million."),
    ("Some 1,200 people work there.", "1,240 people work there."),
    ("Close to 1,200 people work there.", "1,240 people work there."),
    ("It cost almost $5 million.", "It cost $4.8 million."),
    ("It cost $5 m.", "It cost 5 million dollars."),
    ("The flight took more than 3 hours.", "The flight took 3.5 hours."),
    ("It weighs more than 3 tonnes.", "It weighs 3,500 kg."),
    ("Over 1500 people came.", "On the day 1987 people came."),
    ("The fire burned for five days.", "It broke out on 2 September and was out on 6 September."),
    ("The fire burned for four days.", "It broke out on 2 September and was out on 6 September."),
    ("The strike lasted ten days.", "The strike lasted from 27 December 1987 to 5 January 1988."),
    ("World War 2 closed the line.", "The line was closed in World War II."),
    ("The 12 apostles are shown.", "A dozen apostles are shown."),
    ("Revenue was 45 million.", "Revenue (in millions): 45"),
    ("The town has 10 000 inhabitants.", "The town has 10,000 inhabitants."),
    ("The town has 1.200 inhabitants.", "The town has 1,200 inhabitants."),
    ("It rained for 4 days [3, 7].", "Rain fell for four days."),
    ("It ran for five years.", "It ran from 1992 to 1997."),
    ("The probe covers 2.4 miles.", "The probe covers 2. 4 miles every second."),
    ("The 9 volumes fill a shelf.", "Volumes I to IX fill a shelf."),
]


@pytest.mark.parametrize(("claim", "evidence"), SAME_NUMBER)
def test_a_number_written_another_way_is_the_same_number(claim: str, evidence: str) -> None:
    assert hard(claim, evidence) == []


COUNTING_WORDS = [
    "One of the owners left for a second shop.",
    "First, a baker must knead the dough.",
    "1. The baker kneads the dough.",
    "The COVID-19 rules, the H1N1 wave and 3D ovens kept the baker busy.",
    "In his 20s the baker had no one to help.",
]


@pytest.mark.parametrize("claim", COUNTING_WORDS)
def test_words_that_count_nothing_are_no_numbers(claim: str) -> None:
    assert hard(claim, "The baker kneads the dough, with owners coming and going.") == []


@pytest.mark.parametrize(
    ("claim", "evidence", "finding"),
    [
        ("The mill employs 1,300 people.", "The mill employs 1,200 people.", ("number", "1,300")),
        ("The choir has twenty-two singers.", "There are 21 singers.", ("number", "twenty-two")),
        ("55% of the seats were empty.", "50 percent of the seats were empty.", ("number", "55%")),
        ("Over 2,000 people came.", "The gate counted 1,198 visitors.", ("number", "2,000")),
        ("About 1,500 people came.", "The gate counted 1,198 visitors.", ("number", "1,500")),
        ("She finished fifth.", "She finished fourth.", ("number", "fifth")),
        ("The flood came in 1987.", "The flood came in 1978.", ("date", "1987")),
        ("The mill employs 1,200 people.", "The mill employs 1,240 people.", ("number", "1,200")),
        ("The sale brought $5 million.", "The sale brought $4.8 million.", ("number", "$5 million")),
        ("Nearly 1,200 people came.", "The gate counted 700 visitors.", ("number", "1,200")),
        ("The fire burned for nine days.", "It went from 2 September to 6 September.", ("number", "nine days")),
    ],
)
def test_a_number_that_is_not_there_is_named(claim: str, evidence: str, finding: tuple[str, str]) -> None:
    assert hard(claim, evidence) == [finding]
    assert reasons(claim, evidence) == [f"{finding[1]} is not in the cited passage"]


FIRM = (
    "The firm was set up in 1987. From 2021 to 2023 its 1,240 people built a crane that weighs 3.5 tonnes and has an "
    "arm of 42 metres."
)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The crane weighs more than 900 tonnes.", "900 tonnes"),
        ("The arm is over 1500 metres long.", "1500 metres"),
        ("The arm is at least 2,000 m long.", "2,000 m"),
        ("The firm has more than 1,500 people.", "1,500"),
        ("The firm has 1,987 people.", "1,987"),
        ("The firm has 1987 people.", "1987"),
        ("The firm has 42 people.", "42"),
        ("The crane weighs 42 t.", "42 t"),
        ("The crane weighs 1,240 kg.", "1,240 kg"),
        ("The crane weighs less than 3 tonnes.", "3 tonnes"),
    ],
)
def test_a_number_that_counts_something_else_does_not_serve(claim: str, text: str) -> None:
    assert hard(claim, FIRM) == [("number", text)]


def test_two_or_three_of_a_thing_may_be_counted_by_the_reader() -> None:
    found = find_findings("Two people founded the shop.", "Anna Brandt and her brother founded the shop.")
    assert [finding.kind for finding in found] == ["count"]
    assert not any(map(is_hard, found))


@pytest.mark.parametrize(
    ("claim", "evidence", "reason"),
    [
        ("The path is 12 miles long.", "The path is 12 km long.", "the passage says 12 km, the claim 12 miles"),
        ("It weighs 80 lb.", "It weighs 80 kg.", "the passage says 80 kg, the claim 80 lb"),
        ("Debts rose to 3 billion.", "Debts rose to 3 million.", "the passage says 3 million, the claim 3 billion"),
        ("It was 30 °F outside.", "It was 30 °C outside.", "the passage says 30 °C, the claim 30 °F"),
        ("A seat costs €40.", "A seat costs $40.", "the passage says $40, the claim €40"),
        (
            "The share fell by 5%.",
            "The share fell by 5 percentage points.",
            "the passage says 5 percentage points, the claim 5%",
        ),
        ("Take 20 g once a day.", "Take 20 mg once a day.", "the passage says 20 mg, the claim 20 g"),
        ("The can holds 20 l of fuel.", "The can holds 20 ml of fuel.", "the passage says 20 ml, the claim 20 l"),
        ("Boil it for 5 min.", "Boil it for 5 hours.", "the passage says 5 hours, the claim 5 min"),
        ("The walk takes 3 h.", "The walk takes 3 minutes.", "the passage says 3 minutes, the claim 3 h"),
        ("The load is 8 t.", "The load is 8 kg.", "the passage says 8 kg, the claim 8 t"),
        ("The warranty lasts six weeks.", "The warranty lasts six months.", None),
    ],
)
def test_another_unit_of_the_same_kind_is_named(claim: str, evidence: str, reason: str | None) -> None:
    (finding,) = find_findings(claim, evidence)
    assert finding.kind == "unit"
    assert reason is None or finding.reason == reason


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The path is 3.1 miles long.", "The path is 5 km long."),
        ("It was 68 °F outside.", "It was 20 °C outside."),
        ("The oven reaches 392 degrees Fahrenheit.", "The oven reaches 200 degrees Celsius."),
        ("The pot weighs 10 pounds.", "The pot weighs 10 lb."),
        ("The pot costs 10 pounds.", "The pot costs £10."),
        ("It took 24 months.", "It took two years."),
        ("The field covers 5 acres.", "The field covers 2.02 hectares."),
        ("The train runs at 200 km/h.", "The train runs at 124 mph."),
        ("The path is 12 km long.", "Length: 12"),
        ("The 12-year-old won.", "The winner was 12."),
        ("The path is 12 km long.", "Of its 12 km (the whole is 12 miles), half is paved."),
    ],
)
def test_conversions_and_other_spellings_of_a_unit_agree(claim: str, evidence: str) -> None:
    assert hard(claim, evidence) == []


SPEECH = "She said: “We shall never, on any account, sell the old bridge — not to anyone.”"


@pytest.mark.parametrize(
    "claim",
    [
        'She said "we shall never, on any account, sell the old bridge".',
        "She said ‘we shall never on any account sell the old bridge’.",
        "She said “We shall never … sell the old bridge”.",
        "She said “We shall never [under any terms] sell the old bridge.”",
        "She said “[w]e shall never, on any account, sell” it.",
        "She spoke of “the future”.",
        "It’s the mayor’s view that the owners’ rights count.",
        'The plank is 5" wide and 6" long in all.',
    ],
)
def test_words_quoted_as_they_stand_are_fine(claim: str) -> None:
    assert [kind for kind, _ in hard(claim, f"{SPEECH} A plank of 5 by 6 inches lay there.") if kind == "quote"] == []


@pytest.mark.parametrize(
    "claim",
    [
        "She said “we will never sell the old bridge”.",
        'She said "the old bridge … we shall never sell".',
        "She said ‘we shall always keep the bridge’.",
    ],
)
def test_words_that_nobody_said_are_named(claim: str) -> None:
    found = [finding for finding in find_findings(claim, SPEECH) if finding.kind == "quote"]
    assert [finding.reason for finding in found] == ["the quoted words are not in the cited passage"]


def test_a_title_in_quotation_marks_is_a_name() -> None:
    found = find_findings("He wrote “The Long Road Home”.", "He wrote one novel.")
    assert found
    assert not any(map(is_hard, found))


def test_hard_findings_come_first() -> None:
    found = find_findings("Anna Ostrey sold it in 1987.", "Anna Brandt sold it in 1978.")
    assert [finding.kind for finding in found] == ["date", "name"]
    assert [is_hard(finding) for finding in found] == [True, False]
    assert {"number", "date", "unit", "quote"} <= HARD


def test_a_claim_that_stands_in_the_passage_has_no_findings() -> None:
    passage = "Prices rose 4% in May. Nobody at Ostrey Mill “saw any of it coming”, and 12 left."
    assert find_findings("nobody at Ostrey Mill “saw any of it coming”, and 12 left.", passage) == ()


def test_findings_tell_the_claims_own_words() -> None:
    assert find_findings("It fell by 7 %.", "It fell.") == (
        Finding("number", "7 %", "7 % is not in the cited passage"),
    )
