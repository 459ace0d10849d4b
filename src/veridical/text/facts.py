"""A sentence taken apart into atomic facts by a language model, so that each can be checked alone (FActScore)."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from typing import Annotated, Protocol, TypeVar

from pydantic import BaseModel, StringConstraints

from veridical.errors import ModelOutputInvalid

_DELIMITER = re.compile(r"<(?=\s*/?\s*sentence\b)", re.IGNORECASE)
_MOST = 20  # facts of one sentence; a model that writes more has begun to repeat itself

Shape = TypeVar("Shape", bound=BaseModel)


class Facts(BaseModel):
    """What the prompt `atomic_facts` asks for."""

    facts: list[Annotated[str, StringConstraints(strip_whitespace=True)]]


class AskJson(Protocol):
    """`Kit.ask_json`, or anything that asks a language model like it."""

    def __call__(self, name: str, shape: type[Shape], *, sentence: str) -> Awaitable[Shape]: ...


async def split_facts(ask_json: AskJson, sentence: str) -> tuple[str, ...]:
    """The facts of `sentence`, each once, in order; the sentence itself when the model's reply cannot be read.

    Raises what asking raises otherwise: no model, a spent budget.
    """
    if not sentence.strip():
        return ()
    try:
        reply = await ask_json("atomic_facts", Facts, sentence=_DELIMITER.sub("‹", sentence))
    except ModelOutputInvalid:
        return (sentence,)
    facts = dict.fromkeys(fact for fact in reply.facts if fact)
    return tuple(facts) if 0 < len(facts) <= _MOST else (sentence,)
