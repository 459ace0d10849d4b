"""The text that is checked kept out of what it is checked against: it must not vouch for itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.cli.verify_sources import address
from veridical.errors import InputRefused
from veridical.types import Filter, Passage

if TYPE_CHECKING:
    from veridical.blocking import Engine

_FURTHER = 4  # times as many passages are asked for when the text's own took places
_MOST_BYTES = 4  # of a character in any encoding


@dataclass(slots=True)
class Others:
    """An engine whose searches leave out the documents that are the text: the same file, bytes or words.

    `excluded` has the addresses of those that were met. All else is the engine's own.
    """

    engine: Engine
    content: str
    path: Path | None = None  # None: the text came by a pipe
    excluded: dict[str, None] = field(default_factory=dict)
    _known: dict[str, bool] = field(default_factory=dict)  # document id → whether it is the text

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def search_many(
        self, queries: Sequence[str], k: int | None = None, where: Filter | None = None
    ) -> Sequence[Sequence[Passage]]:
        wanted = asked = self.engine.settings.search.k if k is None else k
        kept: dict[int, list[Passage]] = {}
        rows = list(range(len(queries)))
        while rows:
            found = self.engine.search_many([queries[row] for row in rows], asked, where)
            short = []
            for row, passages in zip(rows, found, strict=True):
                others = [passage for passage in passages if not self.is_text(passage.document_id, passage.uri)]
                kept[row] = others[:wanted]
                if len(others) < min(wanted, len(passages)) and len(passages) == asked:
                    short.append(row)
            rows, asked = short, asked * _FURTHER
        return [kept[row] for row in range(len(queries))]

    def check_any(self) -> None:
        """Raises InputRefused when the index holds nothing but the text."""
        if all(self.is_text(document.id, document.uri) for document in self.engine.documents()):
            raise InputRefused(
                "the only source is the text itself", fix="name what it should be checked against: --sources FOLDER"
            )

    def is_text(self, document_id: str, uri: str) -> bool:
        if document_id not in self._known:
            self._known[document_id] = self._is_file(address(uri)) or self._is_content(document_id)
        if self._known[document_id]:
            self.excluded[address(uri)] = None
        return self._known[document_id]

    def _is_file(self, place: str) -> bool:
        file = Path(place)
        try:
            if "://" in place or not file.is_file():
                return False
            if self.path is None:
                return self._reads_the_same(file)
            if file.samefile(self.path):
                return True
            return file.stat().st_size == self.path.stat().st_size and file.read_bytes() == self.path.read_bytes()
        except OSError:  # it cannot be read any more; what the index has of it is compared
            return False

    def _reads_the_same(self, file: Path) -> bool:
        from veridical.corpus.read.decode import decode

        if file.stat().st_size > _MOST_BYTES * (len(self.content) + 1):
            return False
        try:
            return decode(file.read_bytes()).split() == self.content.split()
        except InputRefused:  # no text
            return False

    def _is_content(self, document_id: str) -> bool:
        document = self.engine.document(document_id)
        return document is not None and document.text.split() == self.content.split()
