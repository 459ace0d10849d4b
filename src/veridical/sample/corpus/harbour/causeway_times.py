"""Print-ready crossing times for the Cobble Causeway.

The duty officer runs this every evening and chalks tomorrow's times on the board at the landward end.
Written by Hedda Sayle for the harbour office in 2019, changed in 2021 for revision 3 of the safety manual.
"""

from __future__ import annotations

from datetime import datetime, timedelta

# Revision 3 of the safety manual: two hours on either side of low water, formerly 150 minutes.
SAFE_WINDOW_MINUTES = 120

# The causeway lies 14 minutes' worth of tide further up the bay than the gauge at Kellin Haven.
GAUGE_LAG_MINUTES = 14

# With strong onshore wind the flood comes early. Nobody crosses then, whatever the table says.
WIND_LIMIT_KNOTS = 40


def crossing_window(low_water_at_gauge: datetime) -> tuple[datetime, datetime]:
    """First and last safe minute for a crossing around one low water at the Kellin Haven gauge."""
    low_water = low_water_at_gauge + timedelta(minutes=GAUGE_LAG_MINUTES)
    half = timedelta(minutes=SAFE_WINDOW_MINUTES)
    return low_water - half, low_water + half


def board_text(low_waters: list[datetime], wind_knots: float) -> str:
    """The lines to chalk on the board, one for each low water of the day."""
    if wind_knots > WIND_LIMIT_KNOTS:
        return "CAUSEWAY CLOSED: WIND"
    windows = [crossing_window(low_water) for low_water in low_waters]
    return "\n".join(f"CROSS {first:%H:%M} TO {last:%H:%M}" for first, last in windows)
