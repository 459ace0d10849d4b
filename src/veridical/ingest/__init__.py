"""From files to the index: find, skip what is unchanged, parse in parallel, embed, store in batches."""

from __future__ import annotations

from veridical.ingest.adding import Ingest
from veridical.ingest.run import Progress, Report

__all__ = ["Ingest", "Progress", "Report"]
