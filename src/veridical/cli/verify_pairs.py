"""`verify --pairs`: lines with a premise and a hypothesis in, lines with a label and a score out, in their order.

Nothing is lost: a line that cannot be read comes out as unverified with its error. Memory does not grow with the
number of lines.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from veridical.checks.weight import lower
from veridical.cli import exits
from veridical.cli.replacing import replacing
from veridical.cli.running import Run
from veridical.cli.verify_lines import Pair, name_lines, opened_lines, read_pairs, shown_name, slices
from veridical.errors import InputRefused, ModelUnavailable, VeridicalError
from veridical.types import Entailment, Finding, Json, Label

if TYPE_CHECKING:
    from veridical.engine import Engine
    from veridical.ports import Judge
    from veridical.settings import Settings
    from veridical.verification import Policy

FAILED = 1  # some lines could not be read
_KEPT = 5  # numbers of bad lines, for the message


@dataclass(slots=True)
class Verdicts:
    """How pairs are labelled, and how many of each there were."""

    judge: Judge
    threshold: float
    policy: Policy
    checks: bool = True  # whether what the premise does not hold (numbers, names…) lowers the score
    tally: Counter[str] = field(default_factory=Counter)
    bad: list[int] = field(default_factory=list)  # the first few line numbers

    def label(self, pair: Pair, found: Entailment, score: float) -> Label:
        """As a claim of a text: small models call what is unrelated contradicted, so words must be shared."""
        from veridical.verification.evidence import contradicts

        if score >= self.threshold:
            return Label.SUPPORTED
        against = contradicts(pair.hypothesis, pair.premise, found, self.policy)
        return Label.CONTRADICTED if against else Label.UNVERIFIED

    async def rows(self, pairs: Sequence[Pair]) -> list[dict[str, Json]]:
        """One JSON object a pair. Raises ModelUnavailable: without a judge there is nothing to write."""
        reasons = [pair.error or self._reason(pair) for pair in pairs]
        asked = [pair for pair, reason in zip(pairs, reasons, strict=True) if not reason]
        found = iter(await judge_pairs(self.judge, asked))
        return [
            self._refused(pair, reason) if reason else self._row(pair, next(found))
            for pair, reason in zip(pairs, reasons, strict=True)
        ]

    def _reason(self, pair: Pair) -> str:
        if not pair.hypothesis.strip():
            return "the hypothesis is empty"
        if not pair.premise.strip():
            return "the premise is empty"
        return self.judge.declines(pair.hypothesis) or self.judge.declines(pair.premise)

    def _refused(self, pair: Pair, reason: str) -> dict[str, Json]:
        self.tally[Label.UNVERIFIED] += 1
        row: dict[str, Json] = {"id": pair.id} if pair.id is not None else {}
        row |= {"label": Label.UNVERIFIED.value, "score": 0.0}
        if not pair.error:
            return {**row, "reason": reason}
        self.tally["bad"] += 1
        self.bad += [pair.number] if len(self.bad) < _KEPT else []
        return {**row, "error": reason, "line": pair.number}

    def _row(self, pair: Pair, found: Entailment | str) -> dict[str, Json]:
        if isinstance(found, str):
            return self._refused(pair, found)
        findings = _find(pair) if self.checks else ()
        score = lower(float(found.entailment), findings)
        label = self.label(pair, found, score)
        self.tally[label] += 1
        row: dict[str, Json] = {"id": pair.id, "label": label.value, "score": round(score, 6)}
        return row | {"findings": [_said(finding) for finding in findings]} if findings else row


def _find(pair: Pair) -> Sequence[Finding]:
    from veridical.checks import find_findings

    return find_findings(pair.hypothesis, pair.premise)


def _said(finding: Finding) -> str:
    return finding.reason.replace("the cited passage", "the premise")  # a pair cites nothing


async def probe(judge: Judge) -> None:
    """Raises ModelUnavailable when the judge cannot be asked at all."""
    await judge_pairs(judge, [Pair(0, premise="The light is lit.", hypothesis="The light is lit.")])


async def judge_pairs(judge: Judge, pairs: Sequence[Pair]) -> list[Entailment | str]:
    """What the judge says of each pair, or why it says nothing. Raises ModelUnavailable."""
    if not pairs:
        return []
    try:
        found = await judge.entail([(pair.premise, pair.hypothesis) for pair in pairs])
    except ModelUnavailable:
        raise
    except VeridicalError as error:
        return [f"not checked: {error.message}" for _ in pairs]
    if len(found) != len(pairs):
        return ["not checked: the judge's output was unreadable" for _ in pairs]
    return [one if _is_readable(one) else "not checked: the judge's output was unreadable" for one in found]


def _is_readable(found: Entailment) -> bool:
    return all(isinstance(p, (int, float)) and math.isfinite(p) and 0.0 <= p <= 1.0 for p in found)


# ── the command ──────────────────────────────────────────────────────────────────────────────────


def check_pairs(run: Run, settings: Settings, file: str, out: Path | None, *, checks: bool) -> int:
    """Labels every line of the file; exit code 1 when some could not be read."""
    began = time.monotonic()
    lines = 0
    with opened_judge(settings) as (runner, judge, policy), opened_lines(file) as stream:
        threshold = judge.threshold if policy.threshold is None else policy.threshold
        verdicts = Verdicts(judge, threshold, policy, checks)
        runner.run(probe(judge))  # before anything is written
        with _output(out, run.view.warn) as target:
            for portion in slices(_numbered(read_pairs(stream))):
                rows = runner.run(verdicts.rows(portion))
                target.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
                target.flush()
                lines += len(rows)
            if not lines:
                fix = 'one a line: {"id": "…", "premise": "…", "hypothesis": "…"}'
                raise InputRefused(f"{shown_name(file)} holds no pairs", fix=fix)
    _tell(run, verdicts, lines, time.monotonic() - began)
    return FAILED if verdicts.bad else exits.OK


def _numbered(pairs: Iterator[Pair]) -> Iterator[Pair]:
    """A result is found again by its id, so a line without one is bad."""
    for pair in pairs:
        yield pair if pair.error or pair.id is not None else pair._replace(error="id is missing")


def _tell(run: Run, verdicts: Verdicts, lines: int, seconds: float) -> None:
    tally = verdicts.tally
    counts = ", ".join(f"{tally[label]:,} {label}" for label in Label)
    run.view.note(f"{lines:,} pairs in {seconds:.1f} s ({lines / max(seconds, 1e-9):,.0f}/s): {counts}")
    if verdicts.bad:
        named = name_lines(verdicts.bad, tally["bad"])
        run.view.warn(f"{tally['bad']:,} of {lines:,} lines could not be read, and are unverified: {named}")


@contextmanager
def opened_judge(settings: Settings) -> Iterator[tuple[asyncio.Runner, Judge, Policy]]:
    """The configured judge without an index, its policy, and the loop to ask it in."""
    with asyncio.Runner() as runner:
        engine = build(settings)
        try:
            yield runner, engine.judge, engine.policy
        finally:
            runner.run(engine.close())


def build(settings: Settings) -> Engine:
    from veridical import engine

    return engine.build(settings)


@contextmanager
def _output(out: Path | None, tell: Callable[[str], None]) -> Iterator[IO[str]]:
    if out is None:
        yield sys.stdout
        return
    with replacing(out, keep=tell) as stream:
        yield stream
