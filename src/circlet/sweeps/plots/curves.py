"""Each dot is a run. The line joins the share of runs, their mean or, for steps, their median; the
band is its 95 % interval, drawn up to the highest dot if it has no upper end. Triangles are runs
that had not reached the milestone by their last step.
"""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.plotting import style
from circlet.plotting.panels import nothing
from circlet.study.plan import Study
from circlet.study.swept import words
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep
from circlet.systems.spec import Outcome

TABLES = ("outcomes", "outcome_summary")
CONFIG = ("milestones", "derived_metrics")
PLACES = ("x", "by", "facet")
LEAST = 1


def _spread(sweep: Sweep, places: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Return the positions along the x axis, shifted a little by seed so that all dots are seen."""
    x = sweep.at("x")
    assert x
    jitter = (seeds * 0.618034) % 1 - 0.5
    where = panels.positions(x)
    if x.is_log:
        step = np.diff(np.log(where)).min()
        return where[places] * np.exp(0.3 * step * jitter)
    return where[places] + 0.3 * np.diff(where).min() * jitter


def _panel(
    axes: Axes, outcome: Outcome, sweep: Sweep, runs: pd.DataFrame, rows: pd.DataFrame
) -> None:
    x, by = sweep.at("x"), sweep.at("by")
    assert x
    for k, colour in enumerate(panels.colours(by)):
        group = runs[runs[by.name] == k] if by else runs
        places = _spread(sweep, group[x.name].to_numpy(), group["seed"].to_numpy())
        y = panels.dots(axes, places, outcome, group, color=colour, alpha=0.35, s=9)
        line = (rows[rows[by.name] == k] if by else rows).sort_values(x.name)
        line = line[line["estimate"].notna()]
        at = panels.positions(x)[line[x.name]]
        style = "none" if x.is_words else "-"
        label = by.texts[k] if by else None
        axes.plot(at, line["estimate"], color=colour, ls=style, marker="o", ms=4, label=label)
        panels.intervals(axes, at, line, x, y, colour)
    if outcome.bounds[1] == 1:
        axes.set_ylim(-0.06, 1.06)
    if outcome.kind == "time" and (runs["value"].max() or 0) > 30 * max(runs["value"].min(), 1):
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(0, None)


def draw(study: Study) -> Figure:
    """Draw a row of panels for each outcome, and a column for each value of the facets."""
    sweep = Sweep(study)
    runs, rows = sweep.rows("outcomes"), sweep.rows("outcome_summary")
    if runs.empty:
        return nothing("no finished run to draw")
    shown = sweep.plot.show
    by_outcome = [list(sweep.panels(rows[rows["outcome"] == name])) for name in shown]
    of_facets = len(by_outcome[0]) > 1
    # Without facets outcomes stand side by side, three in a row.
    columns = len(by_outcome[0]) if of_facets else 2 if len(shown) == 4 else min(3, len(shown))
    lines = len(shown) if of_facets else -(-len(shown) // columns)
    figure = Figure(figsize=(3.0 * columns + 0.4, 2.5 * lines + 0.2))
    grid = figure.subplots(lines, columns, squeeze=False)
    for axes in grid.ravel():
        axes.set_axis_off()
    for k, outcome in enumerate(sweep.shown):
        of_runs = list(sweep.panels(runs[runs["outcome"] == outcome.name]))
        for n, ((_, _, title, panel_rows), (*_, own_runs)) in enumerate(
            zip(by_outcome[k], of_runs, strict=True)
        ):
            axes = grid[k][n] if of_facets else grid.ravel()[k]
            axes.set_axis_on()
            _panel(axes, outcome, sweep, own_runs, panel_rows)
            x = sweep.at("x")
            assert x
            panels.scale(axes, x)
            panels.title(axes, title, 2.8)
            if n == 0:
                axes.set_ylabel(textwrap.fill(outcome.label, panels.WIDTH))
    by = sweep.at("by")
    if by:
        grid[0][0].legend(title=words(by.name), fontsize=7, title_fontsize=7)
    colour = "0.4" if by else style.BLUE
    marks = panels.run_marks(colour, runs[runs["outcome"].isin(shown)])
    panels.explain(figure, marks | panels.estimate_marks(sweep.shown, colour))
    return figure
