"""Checks claims against passages and fails closed: what cannot be checked is unverified, never supported.

`verify` is the way in. `repair_marks` rewrites wrong citation marks; a `Calibration` turns a risk target into
a threshold.
"""

from veridical.verification.calibration import Calibration, Point, fit, load, measure
from veridical.verification.policy import Policy, Verification
from veridical.verification.repair import repair_marks
from veridical.verification.verdicts import verify

__all__ = [
    "Calibration",
    "Point",
    "Policy",
    "Verification",
    "fit",
    "load",
    "measure",
    "repair_marks",
    "verify",
]
