"""The words in a picture of a page, read by RapidOCR from the `ocr` extra; its models lie in its wheel."""

from __future__ import annotations

import os
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from veridical.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DOTS_PER_INCH = 200  # letters of 8 points are then 22 dots tall; more cost time and gave no better words
LONGEST_SIDE = 4000  # dots: a poster must not fill the memory
_DETECTION_SIDE = 1280  # dots: lines are found as well on a smaller picture, for a fraction of the time
_EMPTY_LINE = 0.9  # of a line's height: a gap wider than that is an empty line


def require_ocr() -> None:
    """Raises ConfigError when the extra is missing."""
    if find_spec("rapidocr") is None:
        raise ConfigError("read.ocr needs a package that is not installed", fix="pip install 'veridical[ocr]'")


def recognise(image: NDArray[np.uint8]) -> str:
    """The lines of a picture, from top to bottom, with an empty one where a gap is; "" if there are no words.

    `image` is of height x width x (blue, green, red). Takes half a second of one core a line. Raises ConfigError.
    """
    require_ocr()
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # see models/onnx.py: asked when onnxruntime is loaded
    from rapidocr import RapidOCR

    # Files are read in as many processes as there are cores: each keeps to its own.
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    engine = RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.max_side_len": LONGEST_SIDE,
            "Det.limit_type": "max",
            "Det.limit_side_len": _DETECTION_SIDE,
            **threads,
        }
    )
    found = engine(image)
    if found.txts is None or found.boxes is None:
        return ""
    return _lay_out(found.txts, [_edges(box) for box in found.boxes])


def _edges(box: Any) -> tuple[float, float]:
    """The top and the bottom of a box of four corners."""
    heights = [float(corner[1]) for corner in box]
    return min(heights), max(heights)


def _lay_out(texts: tuple[str, ...], edges: list[tuple[float, float]]) -> str:
    lines = list(texts[:1])
    for text, ((top, bottom), (next_top, _)) in zip(texts[1:], pairwise(edges), strict=True):
        lines += ["", text] if next_top - bottom > _EMPTY_LINE * (bottom - top) else [text]
    return "\n".join(lines)
