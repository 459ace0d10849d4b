"""JSON out of a model's reply: found among fences and prose, checked against a shape, sent back for repair."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, TypeVar

from veridical.errors import ModelOutputInvalid
from veridical.types import Json, Message, Prompt

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

    Shape = TypeVar("Shape", bound=BaseModel)

_OPENING = re.compile(r"[{\[]")
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_MOST_CANDIDATES = 50  # a reply with more brackets than that before its JSON is not worth the time
_QUOTED = 2000  # characters of a bad reply that are shown to the model again


def parse_json(text: str) -> Json:
    """The longest JSON object or array in `text`; a whole reply that is any JSON value counts too.

    Forgives code fences, prose around it and trailing commas. Raises ModelOutputInvalid when there is none.
    """
    found = list(_candidates(text))
    if not found:
        raise _invalid("there is no JSON in the reply", text)
    return max(found, key=lambda candidate: candidate[1])[0]


def parse_as(shape: type[Shape], text: str) -> Shape:
    """The first JSON value in `text` that fits `shape`.

    Raises ModelOutputInvalid, with what is wrong at which key, when none does.
    """
    from pydantic import ValidationError

    misfit, longest = "there is no JSON in the reply", -1
    for value, length in _candidates(text):
        try:
            return shape.model_validate(value)
        except ValidationError as error:
            if length > longest:  # the longest was most likely meant
                misfit, longest = _problems(error), length
    raise _invalid(misfit, text)


def repair_prompt(prompt: Prompt, reply: str, problem: str) -> Prompt:
    """`prompt` continued by the bad reply and a request to mend it."""
    request = (
        f"That reply cannot be used: {problem}\n"
        "Send the whole corrected JSON again. Send nothing but the JSON: no explanation, no code fence."
    )
    shown = reply if len(reply) <= _QUOTED else reply[:_QUOTED] + " …"
    # An empty assistant turn is refused by several chat templates.
    turn = (Message("assistant", shown),) if shown.strip() else ()
    return replace(prompt, messages=(*prompt.messages, *turn, Message("user", request)))


def _candidates(text: str) -> Iterator[tuple[Json, int]]:
    """The JSON values in `text` and how many characters each took, in order, none inside another."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    for source in (text, _without_trailing_commas(text)):
        some, position, tries = False, 0, 0
        whole = source.strip()
        if whole and whole[0] not in "{[":
            value = _decode(decoder, whole, 0)
            if value is not None and value[1] == len(whole):
                yield value
                return
        while tries < _MOST_CANDIDATES and (opening := _OPENING.search(source, position)):
            tries += 1
            position = opening.end()
            found = _decode(decoder, source, opening.start())
            if found is not None:
                some, position = True, found[1]
                yield found[0], found[1] - opening.start()
        if some:
            return


def _decode(decoder: json.JSONDecoder, text: str, start: int) -> tuple[Json, int] | None:
    try:
        return decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _without_trailing_commas(text: str) -> str:
    return _STRING_OR_COMMA.sub(lambda match: match[0] if match[0] != "," else "", text)


def _problems(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'the value'}: {problem['msg']}" for problem in error.errors()[:5]
    )


def _invalid(problem: str, text: str) -> ModelOutputInvalid:
    shown = " ".join(text.split())
    shown = shown[:200] + "…" if len(shown) > 200 else shown
    return ModelOutputInvalid(
        f"the model's reply is not the JSON that was asked for: {problem} (it began: {shown!r})",
        fix="ask again, raise max_tokens if the reply was cut short, or use a stronger model",
    )
