"""Opens an ONNX graph, and keeps the runtime from talking to anybody."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.errors import ModelUnavailable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


def open_session(path: Path, fix: str) -> InferenceSession:
    """A session that runs on one core. Raises ModelUnavailable, with the given fix, when the file is unusable."""
    # Some builds of onnxruntime report to their maker and leave a device id in the home folder; they ask this
    # variable when they are loaded. Nothing of ours leaves the machine unasked.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = 1
    # The graphs are written in fused operators already; looking for more to fuse only delays the start.
    options.graph_optimization_level = GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    try:
        return InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises nothing narrower
        raise ModelUnavailable(f"{path} cannot be loaded: {error}", fix=fix) from error
