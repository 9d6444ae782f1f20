"""Measured numbers as text, alike in the terminal, in pages and in figures."""

import math


def number(value: float | None) -> str:
    """Return a number with three significant digits, four from 100 on; a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.3g}" if abs(value) < 100 else f"{value:.4g}"
    text = f"{float(text):.0f}" if 1e4 <= abs(value) < 1e7 else text  # 31360, not 3.136e+04
    return text.replace("-", "−")


def change(value: float) -> str:
    """Return a number with its sign, + included."""
    return f"{'+' if value > 0 else ''}{number(value)}"


def interval(low: float, high: float) -> str:
    """Return a 95 % interval: ``[72.4, 82.4]``."""
    return f"[{number(low)}, {number(high)}]"


def span(low: float, high: float) -> str:
    """Return a range, ``72.4 to 82.4``; an end may be open (NaN), and empty if both are."""
    if math.isnan(low) and math.isnan(high):
        return ""
    if math.isnan(low) or math.isnan(high):
        return f"≤ {number(high)}" if math.isnan(low) else f"≥ {number(low)}"
    return f"{number(low)} to {number(high)}"


def duration(seconds: float) -> str:
    """Return a duration in a unit that leaves two or three digits."""
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86400:.0f} days"


def size(n_bytes: float) -> str:
    """Return the size of files."""
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"
