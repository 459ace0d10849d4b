"""Citation marks are read in every form models write them and printed in one."""

from __future__ import annotations

import pytest

from veridical.text.marks import format_marks, keep_valid_marks, parse_marks, renumber_marks, strip_marks


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It fell [1].", (1,)),
        ("It fell [1][2].", (1, 2)),
        ("It fell [1, 2].", (1, 2)),
        ("It fell [1-3] and rose [2][5].", (1, 2, 3, 5)),
        ("It fell [2–4].", (2, 3, 4)),
        ("An array a[i] and a year (1987).", ()),
        ("Noise [1-9999].", ()),
    ],
)
def test_every_form_is_read(text: str, numbers: tuple[int, ...]) -> None:
    assert parse_marks(text) == numbers


def test_stripping_leaves_a_clean_sentence() -> None:
    assert strip_marks("It fell [1][2], then rose [3].") == "It fell, then rose."


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Use .NET", "Use .NET"),
        ("Use [1] .NET [2] .", "Use .NET."),
        ("Rates  of .5 and .7 [1] fell", "Rates  of .5 and .7 fell"),
        ("It fell.[1] Then", "It fell. Then"),
        ("- one [1]\n- two [2]", "- one\n- two"),
        ("[1] It fell", "It fell"),
    ],
)
def test_only_the_space_of_a_mark_goes_with_it(text: str, bare: str) -> None:
    assert strip_marks(text) == bare


def test_removing_an_invalid_mark_touches_nothing_else() -> None:
    assert keep_valid_marks("Use .NET [9] on\n- a [8]\n- b [1].", 3) == ("Use .NET on\n- a\n- b [1].", 2)
    assert keep_valid_marks("A [9] [1], b [[9]7] c", 3) == ("A [1], b c", 3)


def test_invalid_marks_are_removed_and_counted() -> None:
    assert keep_valid_marks("A [1][7]. B [9]. C [2-5].", 3) == ("A [1]. B. C [2][3].", 4)


def test_valid_text_is_untouched() -> None:
    assert keep_valid_marks("A [1]. B [2][3].", 3) == ("A [1]. B [2][3].", 0)


def test_renumbering_keeps_the_text() -> None:
    assert renumber_marks("A [1, 2]. B [2].", lambda n: n + 10) == "A [11][12]. B [12]."


def test_formatting() -> None:
    assert format_marks([3, 1]) == "[3][1]"
