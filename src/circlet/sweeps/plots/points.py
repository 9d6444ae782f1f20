"""Each row is a setting: the share of its runs, their mean or, for steps, their median, with its 95
% interval; an arrow marks an end that is not known. If there are more than forty settings, an
evenly spaced selection is drawn.
"""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet.config.schedules import evenly
from circlet.plotting import style
from circlet.plotting.panels import nothing
from circlet.study.plan import Study
from circlet.study.swept import text, value, words
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep

TABLES = ("outcome_summary",)
CONFIG = ("milestones", "derived_metrics")
PLACES = ()
POOLS = True

_MOST = 40


def draw(study: Study) -> Figure:
    """Draw a column for each outcome."""
    sweep = Sweep(study)
    rows = sweep.rows("outcome_summary")
    if not rows["n_runs"].any():
        return nothing("no finished run to draw")
    points = evenly(sweep.points, _MOST)
    shown = sweep.shown
    figure = Figure(figsize=(2.2 * len(shown) + 2.4, 0.24 * len(points) + 0.9))
    grid = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    names = []
    for point in points:
        parts = [f"{words(name)} {text(value(point, name))}" for name in sweep.swept]
        parts += [f"{purpose} seed {seed}" for purpose, seed in point.fixed_seeds.items()]
        names.append(", ".join(parts))
    y, has_open = np.arange(len(points))[::-1], False
    for axes, outcome in zip(grid, shown, strict=True):
        of_outcome = rows[rows["outcome"] == outcome.name].set_index("point")
        of_outcome = of_outcome.reindex([p.name for p in points])
        low, high = (of_outcome[end].to_numpy(float) for end in ("low", "high"))
        is_open = np.isnan(high) & ~np.isnan(low)
        most = np.nanmax([*of_outcome["estimate"], *low, *high, 0.0])
        high = np.where(is_open, 1.2 * most, high)
        axes.hlines(y, low, high, color=style.BLUE, lw=1.2)
        axes.plot(high[is_open], y[is_open], ">", color=style.BLUE, ms=4)
        has_open |= bool(is_open.any())
        axes.plot(of_outcome["estimate"], y, "o", color=style.BLUE, ms=4)
        panels.title(axes, outcome.label, 2.1)
        axes.grid(axis="x", color="0.9", lw=0.6)
        if outcome.bounds[1] == 1:
            axes.set_xlim(-0.04, 1.04)
    grid[0].set_yticks(y, names, fontsize=7)
    look = {"color": style.BLUE, "ms": 4}
    marks = {f"{panels.center(shown)}, 95 % interval": Line2D([], [], marker="o", lw=1.2, **look)}
    if has_open:
        marks["upper end unknown"] = Line2D([], [], marker=">", ls="none", **look)
    panels.explain(figure, marks)
    return figure
