"""veridical: question answering over your own documents, every sentence checked against the passage it cites.

    from veridical import Engine

    engine = Engine("kb")
    engine.add("docs/")
    print(engine.ask("Who keeps the light?"))

Names load on use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.blocking import Engine
    from veridical.engine import build
    from veridical.errors import VeridicalError
    from veridical.settings import Settings
    from veridical.types import (
        Answer,
        Citation,
        Claim,
        Document,
        Evidence,
        Filter,
        Label,
        Passage,
        Span,
        Status,
        Usage,
        Verdict,
    )

__version__ = "0.1.0"

_HOMES = {
    "Engine": "veridical.blocking",
    "build": "veridical.engine",
    "Settings": "veridical.settings",
    "VeridicalError": "veridical.errors",
    "Answer": "veridical.types",
    "Citation": "veridical.types",
    "Claim": "veridical.types",
    "Document": "veridical.types",
    "Evidence": "veridical.types",
    "Filter": "veridical.types",
    "Label": "veridical.types",
    "Passage": "veridical.types",
    "Span": "veridical.types",
    "Status": "veridical.types",
    "Usage": "veridical.types",
    "Verdict": "veridical.types",
}

__all__ = [
    "Answer",
    "Citation",
    "Claim",
    "Document",
    "Engine",
    "Evidence",
    "Filter",
    "Label",
    "Passage",
    "Settings",
    "Span",
    "Status",
    "Usage",
    "Verdict",
    "VeridicalError",
    "__version__",
    "build",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'veridical' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
