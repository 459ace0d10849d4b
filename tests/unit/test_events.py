"""The event stream: spans nest, also in parallel; failures carry their fix; a trace file survives a crash."""

from __future__ import annotations

import asyncio
import io
import json

import pytest

from veridical.errors import ModelUnavailable
from veridical.events import Ended, Event, Failed, Started, Token, Trace, write_jsonl


def test_parallel_spans_nest_under_the_one_that_started_them() -> None:
    seen: list[Event] = []
    trace = Trace([seen.append])

    async def child(name: str) -> None:
        with trace.span(name):
            await asyncio.sleep(0)
            trace.token(name)

    async def main() -> None:
        with trace.span("parent") as note:
            async with asyncio.TaskGroup() as group:
                group.create_task(child("a"))
                group.create_task(child("b"))
            note(children=2)

    asyncio.run(main())
    spans = {event.name: event for event in seen if isinstance(event, Started)}
    assert spans["a"].parent == spans["b"].parent == spans["parent"].span
    assert {(t.span, t.text) for t in seen if isinstance(t, Token)} == {(spans["a"].span, "a"), (spans["b"].span, "b")}
    last = seen[-1]
    assert isinstance(last, Ended)
    assert last.detail == {"children": 2}


def test_a_failure_is_an_event_and_still_raises() -> None:
    seen: list[Event] = []
    with pytest.raises(ModelUnavailable), Trace([seen.append]).span("ask"):
        raise ModelUnavailable("server down", fix="start it")
    failed = seen[-1]
    assert isinstance(failed, Failed)
    assert (failed.error, failed.fix) == ("server down", "start it")


def test_the_trace_file_is_one_json_object_a_line() -> None:
    stream = io.StringIO()
    with Trace([write_jsonl(stream)]).span("search", query="Où ?") as note:
        note(passages=["d:0"])
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["started", "ended"]
    assert lines[0]["detail"] == {"query": "Où ?"}
