"""A question, a corpus and a script give a trace. The traces are reviewed as diffs."""

from __future__ import annotations

import asyncio
import json

import pytest

from conftest import Golden
from unit.kits import make_kit
from veridical.events import Event, to_json
from veridical.methods.registry import find_method

SCRIPT = {
    "answer_cited": "The bridge opened in 1913. [1] It was painted red in 1920 [2][9].",
    "answer_closed": "In 1913.",
}


@pytest.mark.parametrize("method", ["rag", "closed"])
def test_trace(method: str, golden: Golden) -> None:
    seen: list[Event] = []
    asyncio.run(find_method(method)(make_kit(SCRIPT, seen=seen), "When was the bridge opened?"))
    lines = []
    for event in seen:
        row = to_json(event)
        for clock in ("at", "seconds"):
            row.pop(clock, None)  # times differ from run to run
        lines.append(json.dumps(row, ensure_ascii=False))
    golden.check(f"{method}.jsonl", "\n".join(lines) + "\n")
