"""Each dot is a run. The line joins the share of runs, their mean or, for steps, their median; the
band is its 95 % interval, drawn up to the highest dot if it has no upper end. Triangles are runs
that had not reached the milestone by their last step.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.plotting import style
from circlet.plotting.panels import tiles
from circlet.study.plan import Study
from circlet.study.swept import Swept, words
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep
from circlet.systems.spec import Outcome

TABLES = ("outcomes", "outcome_summary")
CONFIG = ("milestones", "derived_metrics")
PLACES = ("x", "by", "facet")
LEAST = 1


def _spread(x: Swept, runs: pd.DataFrame) -> np.ndarray:
    """Return the positions along the x axis, shifted a little by seed so that all dots are seen."""
    places, jitter = runs[x.name].to_numpy(), (runs["seed"].to_numpy() * 0.618034) % 1 - 0.5
    where = np.log(panels.positions(x)) if x.is_log else panels.positions(x)
    # Dots of neighbours are apart, and those at the ends within the margins of `panels.scale`.
    width = min(0.3 * np.diff(where).min(), 0.14 * np.ptp(where))
    spread = where[places] + width * jitter
    return np.exp(spread) if x.is_log else spread


def _panel(
    axes: Axes, outcome: Outcome, sweep: Sweep, runs: pd.DataFrame, rows: pd.DataFrame
) -> None:
    x, by = sweep.at("x"), sweep.at("by")
    assert x
    for k, colour in enumerate(panels.colours(by)):
        group = runs[runs[by.name] == k] if by else runs
        y = panels.dots(axes, _spread(x, group), outcome, group, color=colour, alpha=0.35, s=9)
        line = rows[rows[by.name] == k] if by else rows
        line = line.assign(at=panels.positions(x)[line[x.name]])
        panels.estimates(axes, line, x, y, colour, by.texts[k] if by else "")
    if outcome.kind == "time" and (runs["value"].max() or 0) > 30 * max(runs["value"].min(), 1):
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(0, None)
    panels.scale(axes, x)


def draw(study: Study) -> Figure:
    """Draw a row of panels for each outcome, and a column for each value of the facets."""
    sweep = Sweep(study)
    runs, rows = sweep.drawn("outcomes"), sweep.rows("outcome_summary")
    shown = sweep.plot.show
    of_facets = len(list(sweep.panels(rows)))
    # Without facets outcomes stand side by side, three in a row.
    columns = of_facets if of_facets > 1 else 2 if len(shown) == 4 else 3
    figure, grid = tiles(len(shown) * of_facets, columns, 3.1, 2.6)
    for k, outcome in enumerate(sweep.shown):
        parts = (sweep.panels(t[t["outcome"] == outcome.name]) for t in (rows, runs))
        for n, ((_, _, title, panel_rows), (*_, panel_runs)) in enumerate(zip(*parts, strict=True)):
            axes = grid[k * of_facets + n]
            _panel(axes, outcome, sweep, panel_runs, panel_rows)
            panels.title(axes, title, 2.8)
            if n == 0:
                axes.set_ylabel(panels.wrapped(outcome.label, panels.WIDTH))
    by = sweep.at("by")
    if by:
        grid[0].legend(title=words(by.name))
    colour = "0.4" if by else style.BLUE
    marks = panels.run_marks(colour, runs[runs["outcome"].isin(shown)])
    panels.explain(figure, marks | panels.estimate_marks(sweep.shown, colour))
    return figure
