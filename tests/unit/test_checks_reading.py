"""Dates, names and negations of a claim against its passage."""

from __future__ import annotations

import time

import pytest

from veridical.checks import find_findings, is_hard


def kinds(claim: str, evidence: str) -> list[str]:
    return [finding.kind for finding in find_findings(claim, evidence)]


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It opened on 12 March 1987.", "It opened on March 12, 1987."),
        ("It opened on 12 March 1987.", "Opened: 1987-03-12"),
        ("It opened on March 12th, 1987.", "Opened: 12/03/1987"),
        ("It opened on 12/03/1987.", "It opened on 3 December 1987."),
        ("It opened on 12/03/1987.", "It opened on 12 March 1987."),
        ("It opened in March 1987.", "It opened on the 12th of March, 1987."),
        ("It opened in 1987.", "It opened on 12 March 1987."),
        ("It opened in 1987.", "It opened on 12.3.1987."),
        ("It opened in the 1980s.", "It opened in 1987."),
        ("It opened in the 19th century.", "It opened in 1871."),
        ("It opened before 1900.", "It opened in 1871."),
        ("It ran from 1914 to 1918.", "It ran 1914–18."),
        ("The fair was on 13 March 1987.", "The fair lasted from 12–15 March 1987, and 13 March 1987 was wet."),
        ("The fair ended on 15 March 1987.", "The fair lasted from 12 to 15 March 1987."),
        ("It opened on 12 March 1987.", "In 1987 the hall was ready. On 12 March it opened."),
        ("It opened on 15 July 2019.", "15 Jul 19: the hall opens"),
        ("The train left at 10:30 pm.", "The train left at 22:30."),
        ("It may open in May.", "It opened in May."),
    ],
)
def test_a_date_written_another_way_is_the_same_date(claim: str, evidence: str) -> None:
    assert kinds(claim, evidence) == []


@pytest.mark.parametrize(
    ("claim", "evidence", "reason"),
    [
        (
            "It opened on 13 March 1987.",
            "It opened on 12 March 1987.",
            "the passage says 12 March 1987, the claim 13 March 1987",
        ),
        ("It opened on 12 April 1987.", "It opened on 12 March 1987.", "12 April 1987 is not in the cited passage"),
        ("It opened in April 1987.", "It opened in March 1987.", "April 1987 is not in the cited passage"),
        ("It opened in April.", "It opened in March 1987.", "April is not in the cited passage"),
        ("It opened on 2 May 1987.", "It opened on 2 May 1986.", "the passage says 2 May 1986, the claim 2 May 1987"),
        ("It opened in the 1970s.", "It opened in 1987.", "1970s is not in the cited passage"),
        ("It opened in 1987.", "It opened in the 1980s.", "1987 is not in the cited passage"),
        ("The train left at 10:45.", "The train left at 10:30.", "10:45 is not in the cited passage"),
    ],
)
def test_a_date_that_is_not_there_is_named(claim: str, evidence: str, reason: str) -> None:
    (finding,) = find_findings(claim, evidence)
    assert (finding.kind, finding.reason) == ("date", reason)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Émile Ostrey's mill burned.", "The mill of Emile Ostrey burned."),
        ("The mill of J. Ostrey burned.", "The mill of John Ostrey burned."),
        ("The mill of Ostrey burned.", "The mill of John Ostrey burned."),
        ("A German and a French miller met.", "One miller came from Germany, one from France."),
        ("The NMU met in town.", "The National Millers Union met in the town."),
        ("The National Millers Union met.", "The NMU met."),
        ("It was sold to U.S. owners.", "Its new owners are from the United States."),
        ("However, burned mills are rebuilt.", "Mills that burn are built again."),
        ("Rebuilding was slow.", "It took long to build it again."),
        ("The mill burned on a Monday in March.", "In March the mill burned, on the first day of the week."),
        ("Later, Anna left.", "Then Anna went away."),
        ("Let's say the mill burned.", "The mill burned."),
        ("The Parisian, the Swede and an Italian met.", "They came from Paris, Sweden and Italy."),
        ("Norwegian and Swedish millers met.", "Millers from Norway and Sweden met."),
        ("The Canadians and the Chinese met.", "Canada met China."),
    ],
)
def test_a_name_in_another_form_is_known(claim: str, evidence: str) -> None:
    assert kinds(claim, evidence) == []


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ("The mill of Anna Ostrey burned.", "Ostrey"),
        ("Ostrey was the owner of the mill.", "Ostrey"),
        ("The mill in Lindenthal burned.", "Lindenthal"),
        ("Peter Brandt owned the mill.", "Peter"),
        ("The mill’s owners were from Ostrey’s town.", "Ostrey"),
    ],
)
def test_a_name_that_is_not_there_is_named_softly(claim: str, name: str) -> None:
    found = find_findings(claim, "The mill of Anna Brandt, who owned it with others of the town, burned.")
    assert [(finding.kind, finding.text) for finding in found] == [("name", name)]
    assert found[0].reason == f"“{name}” is not in the cited passage"
    assert not is_hard(found[0])


@pytest.mark.parametrize(
    ("claim", "evidence", "name"),
    [
        ("The crane is made by Siemens AG.", "The crane is made by Borealis AG.", "Siemens"),
        ("The crane is made by Acme Inc.", "The crane is made by Bolt Inc. and others.", "Acme"),
        ("The fair in Paris was wet.", "The fair in the parish was wet.", "Paris"),
        ("A landing on Mars failed.", "A landing on the marsh failed.", "Mars"),
    ],
)
def test_a_name_is_not_known_by_its_first_letters_or_by_its_legal_form(claim: str, evidence: str, name: str) -> None:
    assert [(found.kind, found.text) for found in find_findings(claim, evidence)] == [("name", name)]


@pytest.mark.parametrize(
    ("claim", "evidence", "reason"),
    [
        (
            "The council did not approve the new bridge.",
            "The council approved the new bridge.",
            "the claim denies what the passage says (not)",
        ),
        (
            "The council approved the new bridge.",
            "The council never approved the new bridge.",
            "the passage denies what the claim says (never)",
        ),
        (
            "The council approved the new bridge.",
            "The council failed to approve the new bridge.",
            "the passage denies what the claim says (failed)",
        ),
        (
            "The council didn’t approve the new bridge.",
            "Then the council approved the new bridge.",
            "the claim denies what the passage says (didn't)",
        ),
    ],
)
def test_a_denial_of_the_same_words_is_hard(claim: str, evidence: str, reason: str) -> None:
    (finding,) = find_findings(claim, evidence)
    assert (finding.kind, finding.reason) == ("negation", reason)
    assert is_hard(finding)


@pytest.mark.parametrize("claim", ["The plan covers labour.", "The plan covers labour but not parts."])
def test_what_but_not_leaves_out_is_denied(claim: str) -> None:
    (finding,) = find_findings(claim, "The plan covers parts but not labour.")
    assert finding.kind == "negation"


def test_a_denial_of_much_the_same_words_is_soft() -> None:
    claim = "After a long debate, the council did not approve the bridge."
    (finding,) = find_findings(claim, "The council approved the bridge after debate.")
    assert finding.kind == "polarity"
    assert not is_hard(finding)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The council approved the bridge.", "The council not only approved the bridge, it paid for it."),
        ("The bridge opened in spring.", "The bridge, which was not insured, opened in spring."),
        ("The council did not approve the bridge.", "The council refused to approve the bridge."),
        ("The council did not approve the bridge.", "The bridge was rejected; the council would not approve it."),
        ("The bridge was never without guards.", "The bridge always had guards."),
        ("The council approved the bridge.", "The council did not approve the bridge. It approved the bridge later."),
        ("The council approved the new bridge.", "Did the council not approve the new bridge?"),
        ("The bridge is No. 4 on the list.", "The bridge is number 4 on the list."),
        ("Bridge fees are not charged.", "There is zero charge in bridge fees."),
    ],
)
def test_what_only_looks_like_a_denial_is_left_alone(claim: str, evidence: str) -> None:
    assert kinds(claim, evidence) == []


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("", ""),
        ("", "text"),
        ("12", ""),
        ("東京は1987年に開業した。", "東京は1987年に開業した。そして"),
        ("<b>The mill</b> | 12 | {x}", "| 12 | The mill burned |"),
        ("١٢ people came", "12 people came"),
    ],
)
def test_odd_texts_have_no_findings(claim: str, evidence: str) -> None:
    assert [kind for kind in kinds(claim, evidence) if kind != "number" or evidence] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("not one of the 12 Mills in May. " * 700, "The 14 mills of Anna went 3 km on 4 May 1987. " * 5000),
        ("‘a " * 5000, "x " * 50_000),
        ('"a … ' * 5000, "a " * 50_000),
        ("1, " * 5000, "2. " * 50_000),
        ("a" * 30_000, "b" * 300_000),
        (
            " ".join(f"Anna rose {n} of {n + 1} before Bert fell in {n % 7}." for n in range(300)),
            " ".join(f"If Bert rose {n} of {n + 1} after Anna, he may plan to fall in {n % 9}." for n in range(6000)),
        ),
        ("not a b c d. " * 1000, "".join(f"a b c d e{n}. " for n in range(10_000))),
    ],
)
def test_a_hundred_pages_take_no_time_worth_naming(claim: str, evidence: str) -> None:
    start = time.process_time()
    find_findings(claim, evidence)
    # Far above what it takes, far below what anything quadratic would.
    assert time.process_time() - start < 8
