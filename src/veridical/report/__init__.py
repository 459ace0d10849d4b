"""What checking a text found, as a value, as JSON and as a page that needs nothing but itself."""

from __future__ import annotations

from veridical.report.audit import Audit, Numbered, Rules
from veridical.report.document import to_json
from veridical.report.page import render_page

__all__ = ["Audit", "Numbered", "Rules", "render_page", "to_json"]
