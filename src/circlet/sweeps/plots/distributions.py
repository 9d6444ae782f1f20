"""Each dot is a run. Above the dots: the share of runs, their mean or, for steps, their median,
with its 95 % interval. Triangles are runs that had not reached the milestone by their last step.
"""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet.formatting import interval, number
from circlet.plotting import style
from circlet.plotting.panels import tiles
from circlet.study.plan import Study
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep

TABLES = ("outcomes", "outcome_summary")
CONFIG = ("milestones", "derived_metrics")
PLACES = ()


def draw(study: Study) -> Figure:
    """Draw a panel for each outcome."""
    sweep = Sweep(study)
    runs, rows = sweep.drawn("outcomes"), sweep.rows("outcome_summary").set_index("outcome")
    shown = sweep.shown
    figure, grid = tiles(len(shown), 3, 2.95, 1.8)
    for axes, outcome in zip(grid, shown, strict=True):
        row, of_outcome = rows.loc[outcome.name], runs[runs["outcome"] == outcome.name]
        y = (of_outcome["seed"].to_numpy() * 0.618034) % 1
        look = {"color": style.BLUE, "alpha": 0.4, "s": 12}
        x = panels.dots(axes, y, outcome, of_outcome, flat=True, **look)
        text = "no run has it"
        if row["n_runs"]:
            ends = [row["low"], row["high"] if row["high"] == row["high"] else x.max()]
            axes.plot(ends, [1.35, 1.35], color="black", lw=1.5)
            axes.plot(row["estimate"], 1.35, "o", color="black", ms=5)
            is_open = np.isnan(row["estimate"])
            center = f"> {number(row['low'])}" if is_open else number(row["estimate"])
            text = f"{center} {interval(row['low'], row['high'])}, n = {row['n_runs']}"
        panels.title(axes, f"{outcome.label}\n{text}", 2.7)
        axes.set(yticks=[], ylim=(-0.15, 1.7))
        if outcome.bounds[1] != 1:
            axes.locator_params(axis="x", nbins=4)  # more labels may overlap
        axes.spines["left"].set_visible(False)
    marks = panels.run_marks(style.BLUE, runs[runs["outcome"].isin(sweep.plot.show)])
    marks[f"{panels.center(shown)}, 95 % interval"] = Line2D(
        [], [], color="black", marker="o", ms=5, lw=1.5
    )
    panels.explain(figure, marks)
    return figure
