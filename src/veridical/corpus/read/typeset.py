"""The lines of a PDF page with the size and the weight of their letters.

pypdfium2 gives a page's text; how it is set, only pdfium's own functions tell, letter by letter.
"""

from __future__ import annotations

import ctypes
import re
from math import hypot
from typing import TYPE_CHECKING

from veridical.corpus.read.paragraphs import Line, split_lines

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

_BOLD_NAME = re.compile(rb"bold|black|heavy|demi", re.IGNORECASE)
_BOLD_WEIGHT = 600
_NAME_BYTES = 128
_CELL_GAP = 2.0  # of the letters' size: words stand closer, the cells of a table further apart
# Every question to pdfium costs. A heading in larger type holds fewer letters than a full line, so only shorter lines
# are measured throughout; of the full ones, which show the size of the text, some do.
_SHORTER = 0.87
_EVERY = 4
_FEW_LINES = 12


def page_lines(text_page: PdfTextPage) -> list[Line]:
    """The lines in pdfium's order; some full lines have no size, nor those whose letters pdfium lists otherwise."""
    raw = text_page.get_text_range()
    found = list(split_lines(raw))
    lengths = sorted(len(text) for *_, text in found)
    short = _SHORTER * lengths[len(lengths) * 4 // 5] if len(found) > _FEW_LINES else lengths[-1]
    letters = _Letters(text_page, raw)
    lines: list[Line] = []
    above = -1
    for at, (start, end, text) in enumerate(found):
        words = raw[start:end]
        first, last = start + len(words) - len(words.lstrip()), start + len(words.rstrip()) - 1
        if first > last:
            lines.append(Line(text))
            continue
        measured = len(text) <= short or at % _EVERY == 0
        lines.append(letters.measure(text, (first, last), above) if measured else Line(text))
        above = first
    return lines


class _Letters:
    """What pdfium says of single letters, which it numbers otherwise than the characters of the page's text."""

    def __init__(self, text_page: PdfTextPage, raw: str) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium = pdfium
        self._page = text_page.raw
        self._raw = raw
        self._in_step = text_page.count_chars() == len(raw)  # as it is but for ligatures and rare signs
        self._matrix = pdfium.FS_MATRIX()
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._numbers = tuple(ctypes.c_double() for _ in range(4))

    def measure(self, text: str, ends: tuple[int, int], above: int) -> Line:
        """A line whose first and last letters are at `ends`, `above` being the first letter of the one before."""
        first, last = self._find(ends[0]), self._find(ends[1])
        if first < 0 or last < first:
            return Line(text)
        size = min(self._size(first), self._size(last))
        bold = self._bold(first) and self._bold(last) and self._widest_gap(first, last) < _CELL_GAP * size
        upper = self._find(above) if above >= 0 else -1
        drop = max(self._baseline(upper) - self._baseline(first), 0.0) if upper >= 0 else 0.0
        return Line(text, size, bold, drop)

    def _find(self, place: int) -> int:
        """pdfium's number of a character; -1 when it has another one there."""
        if self._in_step:
            return place
        index = int(self._pdfium.FPDFText_GetCharIndexFromTextIndex(self._page, place))
        return index if self._pdfium.FPDFText_GetUnicode(self._page, index) == ord(self._raw[place]) else -1

    def _size(self, index: int) -> float:
        """In points. Many programs set type of size 1 and have the page's matrix enlarge it."""
        self._pdfium.FPDFText_GetMatrix(self._page, index, self._matrix)
        return abs(float(self._pdfium.FPDFText_GetFontSize(self._page, index))) * hypot(self._matrix.c, self._matrix.d)

    def _bold(self, index: int) -> bool:
        if self._pdfium.FPDFText_GetFontWeight(self._page, index) >= _BOLD_WEIGHT:
            return True
        # The standard fonts have no weight, but a name that says it.
        self._pdfium.FPDFText_GetFontInfo(self._page, index, self._name, _NAME_BYTES, None)
        return bool(_BOLD_NAME.search(self._name.value))

    def _baseline(self, index: int) -> float:
        x, y, *_ = self._numbers
        self._pdfium.FPDFText_GetCharOrigin(self._page, index, x, y)
        return y.value

    def _widest_gap(self, first: int, last: int) -> float:
        """Between two neighbours, in points."""
        left, right, bottom, top = self._numbers
        widest = reached = 0.0
        for index in range(first, last + 1):
            self._pdfium.FPDFText_GetCharBox(self._page, index, left, right, bottom, top)
            if right.value <= left.value:  # a space that pdfium made up
                continue
            widest = max(widest, left.value - reached if reached else 0.0)
            reached = right.value
        return widest
