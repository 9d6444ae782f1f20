"""Each row is a setting: the share of its runs, their mean or, for steps, their median, with its 95
% interval; an arrow marks an end that is not known. If there are more than forty settings, an
evenly spaced selection is drawn.
"""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet.config.schedules import evenly
from circlet.plotting import style
from circlet.study.plan import Study
from circlet.study.swept import setting
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep

TABLES = ("outcome_summary",)
CONFIG = ("milestones", "derived_metrics")
PLACES = ()
POOLS = True

_MAX_POINTS = 40


def draw(study: Study) -> Figure:
    """Draw a column for each outcome."""
    sweep = Sweep(study)
    rows = sweep.drawn("outcome_summary")
    names = {}
    for point in evenly(sweep.points, _MAX_POINTS):
        parts = setting(point, sweep.swept.values())
        parts += [f"{purpose} seed {seed}" for purpose, seed in point.fixed_seeds.items()]
        names[point.name] = ", ".join(parts)
    rows = rows[rows["outcome"].isin(sweep.plot.show) & rows["point"].isin(names.keys())]
    rows = rows.assign(name=rows["point"].map(names), colour=style.BLUE)
    figure, grid = panels.listed(rows, sweep.plot.show)
    for axes, outcome in zip(grid, sweep.shown, strict=True):
        axes.grid(axis="x", color="0.9", lw=0.6)
        if outcome.bounds[1] == 1:
            axes.set_xlim(-0.04, 1.04)
    look = {"color": style.BLUE, "ms": 4}
    estimates = f"{panels.center(sweep.shown)}, 95 % interval"
    marks = {estimates: Line2D([], [], marker="o", lw=1.2, **look)}
    if (rows["high"].isna() & rows["low"].notna()).any():
        marks["upper end unknown"] = Line2D([], [], marker=">", ls="none", **look)
    panels.explain(figure, marks)
    return figure
