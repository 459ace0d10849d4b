"""One Markdown file a prompt, checked when it is loaded.

A file opens with a header between `---` lines (`version`, `inputs`, `output`), then holds a `# system` and a
`# user` part. `{{name}}` stands for an input; every placeholder is declared and every declared input is used.
Passages are data: they are delimited, and what would close the delimiter is defused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from veridical.errors import ConfigError
from veridical.types import Json, Message, Passage, Prompt

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_PART = re.compile(r"^# (system|user|assistant)\s*$", re.MULTILINE)
_DELIMITER = re.compile(r"<(?=/?passage\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    version: int
    inputs: tuple[str, ...]
    parts: tuple[Message, ...]
    digest: str

    def render(self, inputs: Mapping[str, str], schema: Mapping[str, Json] | None = None) -> Prompt:
        if set(inputs) != set(self.inputs):
            raise ConfigError(
                f"the prompt {self.name} takes {', '.join(self.inputs)}, not {', '.join(inputs)}",
                fix="pass exactly the inputs that its header names",
            )
        messages = tuple(
            Message(part.role, _PLACEHOLDER.sub(lambda hole: inputs[hole.group(1)], part.content))
            for part in self.parts
        )
        return Prompt(f"{self.name}@{self.version}", messages, schema, self.digest)


def parse_template(name: str, source: str) -> Template:
    """Raises ConfigError when the header is incomplete or does not match the placeholders."""
    header, _, body = source.removeprefix("---\n").partition("\n---\n")
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in header.splitlines())}
    missing = {"version", "inputs", "output"} - set(fields)
    if missing or not fields.get("version", "").isdigit():
        raise ConfigError(
            f"the header of the prompt {name} lacks {', '.join(sorted(missing)) or 'a whole-number version'}",
            fix="begin the file with ---, then version, inputs and output, then ---",
        )
    inputs = tuple(part.strip() for part in fields["inputs"].split(",") if part.strip())
    _check_placeholders(name, inputs, body)
    pieces = _PART.split(body)[1:]
    parts = tuple(Message(role, text.strip()) for role, text in zip(pieces[::2], pieces[1::2], strict=True))
    if not parts:
        raise ConfigError(f"the prompt {name} has no part", fix="add a line '# system' or '# user' before its text")
    digest = hashlib.blake2b(source.encode(), digest_size=6).hexdigest()
    return Template(name, int(fields["version"]), inputs, parts, digest)


def _check_placeholders(name: str, inputs: Sequence[str], body: str) -> None:
    used = set(_PLACEHOLDER.findall(body))
    if used != set(inputs):
        odd = ", ".join(sorted(used ^ set(inputs)))
        raise ConfigError(
            f"the prompt {name} declares and uses different inputs: {odd}",
            fix="make the header's inputs and the {{placeholders}} the same",
        )


@cache
def load(name: str) -> Template:
    file = files(__name__) / f"{name}.md"
    if not file.is_file():
        raise ConfigError(f"there is no prompt named {name}", fix=f"add prompts/{name}.md or use one that exists")
    return parse_template(name, file.read_text(encoding="utf-8"))


def render_passages(passages: Sequence[Passage]) -> str:
    """The passages numbered from 1, each between delimiters that its own text cannot close."""
    blocks = []
    for number, passage in enumerate(passages, 1):
        title = " › ".join(part for part in (passage.title, *passage.heading) if part)
        body = _DELIMITER.sub("‹", f"{title}\n{passage.text}" if title else passage.text)
        blocks.append(f'<passage number="{number}">\n{body}\n</passage>')
    return "\n".join(blocks)
