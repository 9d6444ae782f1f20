"""Each dot is a run, at its value of one parameter; all others differ from run to run, or are
averaged over. The line joins shares or means of runs with similar values (for steps, medians);
bands are 95 % intervals. Triangles are runs that had not reached the milestone by their last step.
ρ is Spearman's rank correlation with its 95 % interval, with the parameters that are swept over a
list held fixed.
"""

import textwrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet.plotting import style
from circlet.plotting.panels import nothing
from circlet.study.plan import Study
from circlet.study.swept import Swept
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep
from circlet.systems.spec import Outcome

TABLES = ("outcomes", "effects", "marginals")
CONFIG = ("milestones", "derived_metrics")
PLACES = ()
LEAST = 1
POOLS = True


def _panel(
    axes: Axes, outcome: Outcome, parameter: Swept, runs: pd.DataFrame, line: pd.DataFrame
) -> None:
    where = panels.positions(parameter)[runs[parameter.name]]
    y = panels.dots(axes, where, outcome, runs, color=style.GREY, alpha=0.4, s=8)
    line = line[line["estimate"].notna()].sort_values("bin")
    x = line["bin"] if parameter.is_words else line["x"]
    dashes = "none" if parameter.is_words else "-"
    axes.errorbar(x, line["estimate"], color=style.BLUE, marker="o", ms=4, ls=dashes)
    panels.intervals(axes, x, line, parameter, y, style.BLUE)
    if outcome.bounds[1] == 1:
        axes.set_ylim(-0.06, 1.06)


def draw(study: Study) -> Figure:
    """Draw a row of panels for each outcome, and a column for each swept parameter."""
    sweep = Sweep(study)
    runs, lines, effects = (sweep.rows(name) for name in ("outcomes", "marginals", "effects"))
    if runs.empty:
        return nothing("no finished run to draw")
    shown, parameters = sweep.shown, list(sweep.swept.values())
    figure = Figure(figsize=(2.4 * len(parameters) + 0.5, 2.2 * len(shown) + 0.2))
    grid = figure.subplots(len(shown), len(parameters), squeeze=False, sharey="row")
    for row, outcome in zip(grid, shown, strict=True):
        for axes, parameter in zip(row, parameters, strict=True):
            of_outcome = [t[t["outcome"] == outcome.name] for t in (runs, lines, effects)]
            of_parameter = [t[t["parameter"] == parameter.name] for t in of_outcome[1:]]
            _panel(axes, outcome, parameter, of_outcome[0], of_parameter[0])
            panels.scale(axes, parameter)
            if not parameter.is_words and of_parameter[1]["rho"].notna().any():
                rho = of_parameter[1].iloc[0]
                ends = ", ".join(panels.number(rho[f"rho_{end}"]) for end in ("low", "high"))
                panels.title(axes, f"ρ = {panels.number(rho['rho'])} [{ends}]", 2.3)
        row[0].set_ylabel(textwrap.fill(outcome.label, panels.WIDTH))
    marks = panels.run_marks(style.GREY, runs[runs["outcome"].isin(sweep.plot.show)])
    marks |= panels.estimate_marks(shown, style.BLUE)
    panels.explain(figure, marks | {"ρ: rank correlation [95 % interval]": Line2D([], [], ls="")})
    return figure
