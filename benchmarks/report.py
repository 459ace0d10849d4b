"""Results as values, and the pages made of them: one JSON file and one Markdown file a page."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

AT_MOST, AT_LEAST = "≤", "≥"
_REACHED = {AT_MOST: operator.le, AT_LEAST: operator.ge}


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. `value` is None when it could not be measured; `note` then says why and what to do."""

    name: str
    value: float | None
    unit: str = ""
    bound: str = ""  # AT_MOST or AT_LEAST `target`; empty: reported only
    target: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.value is None:
            return f"not measured: {self.note}"
        if self.target is None:
            return ""
        return "reached" if _REACHED[self.bound](self.value, self.target) else "**missed**"


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """What one benchmark found. `name` is also its command: `python -m benchmarks NAME`."""

    name: str
    title: str
    page: str  # the file under docs/results that it belongs to
    how: str  # what was measured, in a sentence or two
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    machine: Mapping[str, str] = field(default_factory=dict)


def unmeasured(name: str, why: str) -> Figure:
    return Figure(name, None, note=why)


def number(value: float) -> str:
    """A few significant digits (recall of 0.9997 is not 1), or a whole number with thousands marked."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:#.4g}"


def write(section: Section, folder: Path, order: Sequence[str]) -> Path:
    """Puts the section into its page, beside those of other benchmarks that are there already."""
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / f"{section.page}.json"
    sections: dict[str, Any] = json.loads(record.read_text("utf-8")) if record.exists() else {}
    sections[section.name] = {**asdict(section), "verdicts": {f.name: f.verdict for f in section.figures}}
    ranked = {name: sections[name] for name in sorted(sections, key=lambda name: (*_place(name, order), name))}
    record.write_text(json.dumps(ranked, indent=1, ensure_ascii=False) + "\n", "utf-8")
    page = folder / f"{section.page}.md"
    page.write_text(_page(section.page, [_revive(one) for one in ranked.values()]), "utf-8")
    return page


def _place(name: str, order: Sequence[str]) -> tuple[int]:
    return (order.index(name) if name in order else len(order),)


def _revive(stored: Mapping[str, Any]) -> Section:
    parts = {key: value for key, value in stored.items() if key != "verdicts"}
    figures = tuple(Figure(**one) for one in parts.pop("figures"))
    tables = tuple(
        Table(tuple(one["columns"]), tuple(tuple(row) for row in one["rows"])) for one in parts.pop("tables")
    )
    return Section(**{**parts, "notes": tuple(parts["notes"])}, figures=figures, tables=tables)


def _page(page: str, sections: Sequence[Section]) -> str:
    latest = max(sections, key=lambda section: section.machine.get("date", ""))
    lines = [f"# Results: {page}", "", *_facts(latest.machine), ""]
    for section in sections:
        lines += _section(section, latest)
    return "\n".join(lines).rstrip() + "\n"


def _facts(machine: Mapping[str, str]) -> list[str]:
    return [f"- {key}: {value}" for key, value in machine.items()]


def _section(section: Section, latest: Section) -> list[str]:
    lines = [f"## {section.title}", "", f"    {section.machine.get('command', '')}", "", section.how, ""]
    if section.machine.get("commit") != latest.machine.get("commit"):
        lines += [f"Measured {section.machine.get('date')} at commit {section.machine.get('commit')}.", ""]
    if section.figures:
        lines += ["| figure | measured | target | |", "|---|---:|---:|---|", *map(_row, section.figures), ""]
    for table in section.tables:
        lines += ["| " + " | ".join(table.columns) + " |", "|" + "|".join(["---"] * len(table.columns)) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in table.rows] + [""]
    lines += [f"- {note}" for note in section.notes]
    return [*lines, ""] if section.notes else lines


def _row(figure: Figure) -> str:
    unit = f" {figure.unit}" if figure.unit and figure.unit != "×" else figure.unit
    measured = "—" if figure.value is None else number(figure.value) + unit
    target = "" if figure.target is None else f"{figure.bound} {number(figure.target)}{unit}"
    note = figure.note if figure.value is not None else ""  # else the verdict holds it
    remark = "; ".join(part for part in (figure.verdict, note) if part)
    return f"| {figure.name} | {measured} | {target} | {remark} |"
