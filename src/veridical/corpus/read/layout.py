"""Builds a document's text out of blocks, keeping track of where headings and pages begin."""

from __future__ import annotations

from veridical.corpus.read.decode import clean
from veridical.types import Heading


class Layout:
    """Blocks are separated by an empty line, those of one `run` (a table's rows, a list's items) by a line end."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.length = 0
        self._run = ""
        self._open: list[tuple[int, str]] = []  # the headings in force, with their levels
        self.headings: list[Heading] = []
        self.pages: list[int] = []

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def block(self, text: str, run: str = "") -> int:
        """Appends a block; where it begins. Empty blocks leave no trace."""
        body = clean(text).strip()
        if not body:
            return self.length
        if self._pieces:
            self._append("\n" if run and run == self._run else "\n\n")
        start = self.length
        self._append(body)
        self._run = run
        return start

    def heading(self, level: int, text: str) -> None:
        """Appends a heading of level 1 (highest) or more."""
        title = " ".join(clean(text).split())
        if title:
            self.section(level, title, self.block(title))

    def section(self, level: int, title: str, start: int | None = None) -> None:
        """A heading that is not part of the text, such as a sheet's name; `start` defaults to the next block."""
        self._open = [*(entry for entry in self._open if entry[0] < level), (level, title)]
        if start is None:
            self._run = ""
        at = self._next() if start is None else start
        self.headings.append(Heading(at, tuple(name for _, name in self._open)))

    def page(self) -> None:
        """The next block begins a page."""
        self._run = ""
        self.pages.append(self._next())

    def _next(self) -> int:
        return self.length + 2 if self._pieces else 0

    def _append(self, piece: str) -> None:
        self._pieces.append(piece)
        self.length += len(piece)
