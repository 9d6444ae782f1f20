"""Each dot is a run. Above the dots: the share of runs, their mean or, for steps, their median,
with its 95 % interval. Triangles are runs that had not reached the milestone by their last step.
"""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet.plotting import style
from circlet.plotting.panels import nothing
from circlet.study.plan import Study
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep

TABLES = ("outcomes", "outcome_summary")
CONFIG = ("milestones", "derived_metrics")
PLACES = ()


def draw(study: Study) -> Figure:
    """Draw a panel for each outcome."""
    sweep = Sweep(study)
    runs, rows = sweep.rows("outcomes"), sweep.rows("outcome_summary").set_index("outcome")
    if runs.empty:
        return nothing("no finished run to draw")
    shown = sweep.shown
    columns = min(3, len(shown))
    lines = -(-len(shown) // columns)
    figure = Figure(figsize=(2.9 * columns + 0.2, 1.75 * lines + 0.1))
    all_axes = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes in all_axes[len(shown) :]:
        axes.set_axis_off()
    for axes, outcome in zip(all_axes, shown, strict=False):
        row, of_outcome = rows.loc[outcome.name], runs[runs["outcome"] == outcome.name]
        y = (of_outcome["seed"].to_numpy() * 0.618034) % 1
        look = {"color": style.BLUE, "alpha": 0.4, "s": 12}
        x = panels.dots(axes, y, outcome, of_outcome, flat=True, **look)
        text = "no run has it"
        if row["n_runs"]:
            ends = [row["low"], row["high"] if row["high"] == row["high"] else x.max()]
            axes.plot(ends, [1.35, 1.35], color="black", lw=1.5)
            axes.plot(row["estimate"], 1.35, "o", color="black", ms=5)
            low, high = (panels.number(row[end]) for end in ("low", "high"))
            center = panels.number(row["estimate"])
            if np.isnan(row["estimate"]):
                center = f"> {panels.number(row['low'])}"
            text = f"{center} [{low}, {high}], n = {row['n_runs']}"
        panels.title(axes, f"{outcome.label}\n{text}", 2.7)
        axes.set(yticks=[], ylim=(-0.15, 1.7))
        if outcome.bounds[1] == 1:
            axes.set_xlim(-0.06, 1.06)
        else:
            axes.locator_params(axis="x", nbins=4)  # more labels may overlap
        axes.spines["left"].set_visible(False)
    marks = panels.run_marks(style.BLUE, runs[runs["outcome"].isin(sweep.plot.show)])
    marks[f"{panels.center(shown)}, 95 % interval"] = Line2D(
        [], [], color="black", marker="o", ms=5, lw=1.5
    )
    panels.explain(figure, marks)
    return figure
