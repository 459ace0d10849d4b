"""The README's Python runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("code", BLOCKS, ids=["blocking", "async", "verify"])
def test_readme_code_runs(code: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "light.txt").write_text("Ada Quill keeps the light on Farrow Head.\n", encoding="utf-8")
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    # A process of its own: what is left open at its end must not complain either.
    ran = subprocess.run(
        [sys.executable, "-W", "error", "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Ada Quill keeps the light" in ran.stdout


def test_readme_holds_no_placeholder() -> None:
    assert re.findall(r"\b[A-Z]{3,}_[A-Z]+\b", README.replace("VERIDICAL_DATA", "")) == []


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_readme_names_the_two_commands(command: str) -> None:
    assert command in README


def test_every_link_of_the_readme_leads_somewhere() -> None:
    root = Path(__file__).parents[2]
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 5
    assert [link for link in links if not link.startswith("http") and not (root / link).exists()] == []
