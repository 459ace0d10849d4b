"""JSON out of replies as models really write them."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from veridical.errors import ModelOutputInvalid
from veridical.text.structured import parse_as, parse_json, repair_prompt
from veridical.types import Message, Prompt


class Verdict(BaseModel):
    claim: str
    score: float = Field(ge=0, le=1)


GOOD = Verdict(claim="a, b]", score=0.5)


@pytest.mark.parametrize(
    "reply",
    [
        '{"claim": "a, b]", "score": 0.5}',
        'Here you are:\n```json\n{"claim": "a, b]", "score": 0.5}\n```\nAnything else?',
        'As [1] and {this} show: {"claim": "a, b]", "score": 0.5}',
        '{"claim": "a, b]", "score": 0.5,\n}',
        '{"thought": "hm"} {"claim": "a, b]", "score": 0.5}',
        '\ufeff  {"claim": "a, b]", "score": 0.5} </s>',
    ],
)
def test_a_shape_is_found_among_fences_prose_and_commas(reply: str) -> None:
    assert parse_as(Verdict, reply) == GOOD


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "no JSON"),
        ("I cannot help with that.", "no JSON"),
        ('{"claim": "cut sho', "no JSON"),
        ('{"claim": "x", "score": NaN}', "no JSON"),
        ('{"claim": "x", "score": 7}', "score: Input should be less than or equal to 1"),
        ('{"score": 0.1}', "claim: Field required"),
        ("[1, 2]", "the value: Input should be a valid dictionary"),
        ("[" * 100_000, "no JSON"),
        ("{" * 100_000 + "}" * 100_000, "no JSON"),
    ],
)
def test_an_unusable_reply_says_what_is_wrong(reply: str, problem: str) -> None:
    with pytest.raises(ModelOutputInvalid, match="not the JSON that was asked for") as caught:
        parse_as(Verdict, reply)
    assert problem in caught.value.message
    assert len(caught.value.message) < 1000


def test_the_longest_misfit_is_the_one_explained() -> None:
    with pytest.raises(ModelOutputInvalid, match="score: Field required"):
        parse_as(Verdict, 'See [1]. {"claim": "the one that was meant"}')


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('["a", "b",]', ["a", "b"]),
        ("Marks [1] aside: {\"a\": [1, 2]}", {"a": [1, 2]}),
        ("true", True),
        ('"only, ]a string"', "only, ]a string"),
        ('{"keeps": "commas,]", "in": "strings,}",}', {"keeps": "commas,]", "in": "strings,}"}),
    ],
)  # fmt: skip
def test_plain_json_is_read_tolerantly(reply: str, value: object) -> None:
    assert parse_json(reply) == value


def test_plain_json_that_is_not_there() -> None:
    with pytest.raises(ModelOutputInvalid):
        parse_json("nothing")


def test_repair_continues_the_conversation_and_keeps_the_schema() -> None:
    prompt = Prompt("p@1", (Message("user", "Judge."),), {"type": "object"})
    repaired = repair_prompt(prompt, "x" * 10_000, "score: too high")
    assert repaired.schema == prompt.schema
    assert repaired.name == prompt.name
    assert [message.role for message in repaired.messages] == ["user", "assistant", "user"]
    assert "score: too high" in repaired.messages[-1].content
    assert len(repaired.messages[1].content) < 3000


def test_repair_of_silence_adds_no_empty_turn() -> None:
    repaired = repair_prompt(Prompt("p@1", (Message("user", "Judge."),)), "  ", "no JSON")
    assert [message.role for message in repaired.messages] == ["user", "user"]
