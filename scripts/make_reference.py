"""Writes docs/reference from the commands, the settings and the exit codes; --check fails when it is stale."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from veridical.cli import exits
from veridical.cli.app import app
from veridical.cli.running import Common
from veridical.settings import ENV_PREFIX, Loaded, Settings

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- Made by scripts/make_reference.py from the code; edit the code instead. -->\n"


def cli_page() -> str:
    root = typer.main.get_command(app)
    commands = list(walk(root, ["veridical"]))
    common = next(command for _, command in commands)
    lines = [
        "# Commands\n",
        f"{root.help}\n",
        "Every command takes these options:\n",
        "| option | meaning |",
        "|---|---|",
    ]
    names = set(Common.__dataclass_fields__)
    lines += [row(param) for param in common.params if param.name in names]
    for path, command in commands:
        lines += section(path, command, names)
    return NOTE + "\n" + "\n".join(lines) + "\n"


def walk(command: Any, path: list[str]) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path), command
        return
    for name, each in inner.items():
        yield from walk(each, [*path, name])


def section(path: str, command: Any, common: set[str]) -> Iterator[str]:
    own = [param for param in command.params if param.name not in common and param.name != "help"]
    arguments = [param for param in own if param.param_type_name == "argument"]
    options = [param for param in own if param.param_type_name != "argument"]
    usage = " ".join([path, *(argument.metavar for argument in arguments), "[OPTIONS]"])
    yield f"\n## `{path}`\n"
    yield command.help
    yield f"\n```\n{usage}\n{command.epilog.removeprefix('Example: ')}    # for example\n```"
    if arguments or options:
        yield "\n| | meaning |\n|---|---|"
        yield from (f"| `{argument.metavar}` | {cell(argument.help)} |" for argument in arguments)
        yield from (row(option) for option in options)


def row(param: Any) -> str:
    names = ", ".join(f"`{name}`" for name in param.opts)
    value = f" `{param.metavar}`" if param.metavar else ""
    default = (
        f" Default: {param.default}." if isinstance(param.default, int) and param.default not in (True, False) else ""
    )
    return f"| {names}{cell(value)} | {cell(param.help)}{default} |"


def cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|")


def settings_page() -> str:
    lines = [
        "# Settings\n",
        "Flags win over the environment, the environment over `veridical.toml` here, that over the defaults.",
        "`veridical config show` prints every value and where it came from; an unknown name is refused.\n",
        "On the command line: `--set search.k=8`. In the environment: `VERIDICAL_SEARCH__K=8`. In the file:\n",
        "```toml\n[search]\nk = 8\n```\n",
        "| setting | default | environment | meaning |",
        "|---|---|---|---|",
    ]
    for setting in Loaded(Settings(), {}).rows():
        default = "" if setting.value in (None, "") else f"`{setting.value}`"
        variable = ENV_PREFIX + setting.key.upper().replace(".", "__")
        lines.append(f"| `{setting.key}` | {default} | `{variable}` | {cell(setting.meaning)} |")
    lines.append(
        "\n`OPENAI_API_KEY` and `OPENAI_BASE_URL` fill `openai.api_key` and `openai.base_url` when nothing else does."
    )
    return NOTE + "\n" + "\n".join(lines) + "\n"


def exits_page() -> str:
    rows = [f"| {code} | {cell(meaning)} |" for code, meaning in sorted(exits.MEANINGS.items())]
    return NOTE + "\n" + "\n".join(["# Exit codes\n", "| code | meaning |", "|---|---|", *rows]) + "\n"


PAGES = {"cli.md": cli_page, "settings.md": settings_page, "exit-codes.md": exits_page}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is stale")
    check = parser.parse_args().check
    stale = []
    for name, make in PAGES.items():
        file, text = FOLDER / name, make()
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            FOLDER.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    if stale and check:
        print(f"stale: {', '.join(stale)}\n  → python scripts/make_reference.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
