"""What the package promises to others: its names, and that importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

import veridical

HEAVY = {"numpy", "onnxruntime", "tokenizers", "tantivy", "httpx2", "lxml", "pydantic", "rich", "typer", "sqlite3"}


def test_the_public_names() -> None:
    assert veridical.__all__ == [
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
    for name in veridical.__all__:
        assert getattr(veridical, name) is not None


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, veridical; print(*sorted(name.partition('.')[0] for name in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(ran.stdout.split()) & HEAVY
