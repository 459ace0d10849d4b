"""The small file beside a derived index that says how far it follows the store."""

from __future__ import annotations

import json
import os
from pathlib import Path

STATE = "state.json"


def read_state(folder: Path) -> dict[str, int]:
    """Empty when there is none, or none that can be read: the index is then built anew."""
    try:
        state = json.loads((folder / STATE).read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    valid = isinstance(state, dict) and all(isinstance(value, int) for value in state.values())
    return state if valid else {}


def write_state(folder: Path, state: dict[str, int]) -> None:
    """Atomic and durable: a reader, or a crash, sees the old state or the new one."""
    temporary = folder / f"{STATE}.{os.getpid()}.tmp"
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / STATE)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be synced there, and renames are journalled
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
