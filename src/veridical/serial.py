"""Answers and passages to JSON and back, without loss."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from veridical.types import Answer, Passage

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def answer_to_json(answer: Answer, indent: int | None = None) -> str:
    return _adapter(Answer).dump_json(answer, indent=indent).decode()


def answer_from_json(text: str | bytes) -> Answer:
    """Raises pydantic.ValidationError when the JSON is not an answer."""
    answer: Answer = _adapter(Answer).validate_json(text)
    return answer


def passage_to_dict(passage: Passage) -> dict[str, Any]:
    return {**asdict(passage), "span": list(passage.span)}
