"""Each dot is a run, at its value of one parameter; all others differ from run to run, or are
averaged over. The line joins shares or means of runs with similar values (for steps, medians);
bands are 95 % intervals. Triangles are runs that had not reached the milestone by their last step.
ρ is Spearman's rank correlation with its 95 % interval, with the parameters that are swept over a
list held fixed.
"""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet.formatting import interval, number
from circlet.plotting import style
from circlet.study.plan import Study
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep

TABLES = ("outcomes", "effects", "marginals")
CONFIG = ("milestones", "derived_metrics")
PLACES = ()
LEAST = 1
POOLS = True


def draw(study: Study) -> Figure:
    """Draw a row of panels for each outcome, and a column for each swept parameter."""
    sweep = Sweep(study)
    runs = sweep.drawn("outcomes")
    lines, effects = (sweep.rows(name) for name in ("marginals", "effects"))
    shown, parameters = sweep.shown, list(sweep.swept.values())
    figure = Figure(figsize=(2.4 * len(parameters) + 0.5, 2.2 * len(shown) + 0.2))
    grid = figure.subplots(len(shown), len(parameters), squeeze=False, sharey="row")
    for row, outcome in zip(grid, shown, strict=True):
        outcome_runs, *others = (t[t["outcome"] == outcome.name] for t in (runs, lines, effects))
        for axes, parameter in zip(row, parameters, strict=True):
            line, effect = (t[t["parameter"] == parameter.name] for t in others)
            where = panels.positions(parameter)[outcome_runs[parameter.name]]
            y = panels.dots(axes, where, outcome, outcome_runs, color=style.GREY, alpha=0.4, s=8)
            line = line.assign(at=line["bin"] if parameter.is_words else line["x"])
            panels.estimates(axes, line, parameter, y, style.BLUE)
            panels.scale(axes, parameter)
            if not parameter.is_words and effect["rho"].notna().any():
                rho = effect.iloc[0]
                ends = interval(rho["rho_low"], rho["rho_high"])
                panels.title(axes, f"ρ = {number(rho['rho'])} {ends}", 2.3)
        row[0].set_ylabel(panels.wrapped(outcome.label, panels.WIDTH))
    marks = panels.run_marks(style.GREY, runs[runs["outcome"].isin(sweep.plot.show)])
    marks |= panels.estimate_marks(shown, style.BLUE)
    panels.explain(figure, marks | {"ρ: rank correlation [95 % interval]": Line2D([], [], ls="")})
    return figure
