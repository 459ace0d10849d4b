"""Units: the passage has the claim's number, but counts something else with it."""

from __future__ import annotations

from veridical.checks.figures import Figures
from veridical.checks.measures import MEASURES
from veridical.checks.quantities import Quantity
from veridical.types import Finding


def find_unit(quantity: Quantity, figures: Figures) -> Finding | None:
    """The finding for a claim's quantity that the passage has in another unit or scale of the same kind."""
    for written in figures.written(quantity.mantissa):
        if _differ(quantity, written):
            reason = f"the passage says {written.text}, the claim {quantity.text}"
            return Finding("unit", quantity.text, reason)
    return None


def _differ(claimed: Quantity, written: Quantity) -> bool:
    """Whether both name a unit of one dimension, or scale, and not the same one."""
    if written.code:
        return False
    dimensions = {MEASURES[unit].dimension for unit in claimed.units}
    if dimensions & {MEASURES[unit].dimension for unit in written.units}:
        return True
    return bool(claimed.scale and written.scale and claimed.scale != written.scale)
