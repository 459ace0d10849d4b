"""A `Filter` as SQL over documents. Exact: both searches are restricted to the keys it selects."""

from __future__ import annotations

from veridical.types import Filter

_WILD = frozenset("*?[")


def condition(where: Filter) -> tuple[str, list[object]]:
    """An SQL condition over `documents AS d` and its parameters; true when nothing is restricted."""
    parts: list[str] = []
    values: list[object] = []
    if where.path:
        globs = path_globs(where.path)
        # A row of a table has a URI of its own, but lies where its table lies.
        parts.append("(" + " OR ".join("d.uri GLOB ? OR d.source GLOB ?" for _ in globs) + ")")
        values += [glob for glob in globs for _ in range(2)]
    if where.types:
        wanted = [kind.lower().removeprefix(".") for kind in where.types]
        marks = ",".join("?" * len(wanted))
        parts.append(f"(lower(d.media_type) IN ({marks}) OR d.suffix IN ({marks}))")
        values += wanted * 2
    if where.after:
        parts.append("d.date >= ?")  # a document without a date is in no range: NULL is not true
        values.append(where.after.isoformat())
    if where.before:
        parts.append("d.date <= ?")
        values.append(where.before.isoformat())
    for tag in where.tags:
        parts.append("EXISTS (SELECT 1 FROM document_tags AS t WHERE t.document = d.key AND t.tag = ?)")
        values.append(tag)
    return " AND ".join(parts) or "1", values


def path_globs(path: str) -> list[str]:
    """The SQLite globs, any of which may match: `*` crosses folders, and a relative path matches at any depth."""
    anchored = path.startswith("/") or "://" in path
    if _WILD.intersection(path):
        pattern = path.replace("[!", "[^")
        return [pattern] if anchored else [pattern, f"*/{pattern}"]
    plain = path.rstrip("/") or "/"
    below = f"{plain.rstrip('/')}/*"
    return [plain, below] if anchored else [plain, below, f"*/{plain}", f"*/{below}"]
