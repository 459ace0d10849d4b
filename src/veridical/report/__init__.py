"""What checking a text found, as a value, as JSON and as a page that needs nothing but itself."""

from __future__ import annotations

from veridical.report.audit import Audit, Numbered, Rules, distinct, score_in_words
from veridical.report.document import to_json
from veridical.report.page import render_page

__all__ = ["Audit", "Numbered", "Rules", "distinct", "render_page", "score_in_words", "to_json"]
