"""The methods by name: ours, and those that other packages register under the entry point `veridical.methods`."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, cast

from veridical.errors import ConfigError

if TYPE_CHECKING:
    from veridical.methods.joints import Method

ENTRY_POINTS = "veridical.methods"
_OURS = {
    "rag": "veridical.methods.rag:Rag",
    "closed": "veridical.methods.closed:Closed",
}


@dataclass(frozen=True, slots=True)
class Described:
    name: str
    summary: str
    fields: tuple[str, ...]


def method_names() -> tuple[str, ...]:
    """Ours first, in the order of the documentation, then those of other packages."""
    theirs = sorted(entry.name for entry in entry_points(group=ENTRY_POINTS))
    return (*_OURS, *(name for name in theirs if name not in _OURS))


def find_method(name: str) -> Method:
    """The method at its default fields. Raises ConfigError with the nearest name when there is none."""
    return cast("Callable[[], Method]", _load(name))()


def describe_methods() -> list[Described]:
    described = []
    for name in method_names():
        made = find_method(name)
        summary = (type(made).__doc__ or "").strip().splitlines()[0]
        fields = tuple(f"{field}={getattr(made, field)!r}" for field in getattr(made, "__dataclass_fields__", {}))
        described.append(Described(name, summary, fields))
    return described


def _load(name: str) -> object:
    if name in _OURS:
        module, _, attribute = _OURS[name].partition(":")
        return getattr(import_module(module), attribute)
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        return entry.load()
    near = difflib.get_close_matches(name, method_names(), n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise ConfigError(f"there is no method named {name}", fix=f"{hint}`veridical methods` lists them")
