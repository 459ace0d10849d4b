"""The trained cross-encoder and the two who ask it, under one name."""

from __future__ import annotations

from veridical.models.cross_encoder import FORMAT, WEIGHTS, Code, CrossEncoder
from veridical.models.judge import LocalJudge, combine
from veridical.models.relevance import Relevance

__all__ = ["FORMAT", "WEIGHTS", "Code", "CrossEncoder", "LocalJudge", "Relevance", "combine"]
