"""What the page on verification names is there: its functions can be imported, and its tests can be found."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "methods" / "verification.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## Formula → function → test")[2].partition("\n## ")[0]
ROWS = [re.split(r"(?<!\\)\|", line)[1:-1] for line in TABLE.splitlines() if line.startswith("| ")][1:]
FUNCTIONS = sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row[1])})
TESTS = sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row[2])})
WRITTEN = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))


def test_the_table_is_read() -> None:
    assert len(ROWS) > 20
    assert all(len(row) == 3 for row in ROWS)
    assert all("`" in row[1] and "`" in row[2] for row in ROWS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_named_exists(name: str) -> None:
    parts = ["veridical", *name.split(".")]
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        assert end > 1
        return


@pytest.mark.parametrize("name", TESTS)
def test_every_test_named_exists(name: str) -> None:
    path, _, function = name.rpartition("::") if "::" in name or name.startswith("test_") else (name, "", "")
    assert not path or list(ROOT.glob(path))
    assert not function or f"def {function}(" in WRITTEN
