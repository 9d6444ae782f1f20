"""Each dot is a setting, at its values of two parameters; its colour is the share of its runs,
their mean or, for steps, their median. Crosses are settings without finished runs, or where fewer
than half of the runs had reached the milestone by their last step.
"""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet.study.plan import Study
from circlet.study.swept import words
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep

TABLES = ("outcome_summary",)
CONFIG = ("milestones", "derived_metrics")
PLACES = ()
LEAST = 2
POOLS = True


def draw(study: Study) -> Figure:
    """Draw a row of panels for each outcome, and a column for each pair of parameters."""
    sweep = Sweep(study)
    points, parameters = sweep.drawn("outcome_summary"), list(sweep.swept.values())
    pairs = [(a, b) for i, a in enumerate(parameters) for b in parameters[i + 1 :]]
    shown = sweep.shown
    figure = Figure(figsize=(2.7 * len(pairs) + 0.8, 2.4 * len(shown) + 0.2))
    grid = figure.subplots(len(shown), len(pairs), squeeze=False)
    for row, outcome in zip(grid, shown, strict=True):
        of_outcome = points[points["outcome"] == outcome.name]
        estimated = of_outcome[of_outcome["estimate"].notna()]
        unknown = of_outcome[of_outcome["estimate"].isna()]
        norm = panels.shades(outcome, estimated["estimate"].to_numpy(float))
        for axes, (a, b) in zip(row, pairs, strict=True):
            x, y = (panels.positions(q) for q in (a, b))
            axes.scatter(
                x[unknown[a.name]], y[unknown[b.name]], marker="x", color="0.6", s=10, lw=0.8
            )
            image = axes.scatter(x[estimated[a.name]], y[estimated[b.name]],
                                 c=estimated["estimate"], s=12,
                                 cmap=panels.COLOURS, norm=norm)  # fmt: skip
            panels.scale(axes, a)
            axes.set_ylabel(words(b.name))
            if b.is_log:
                axes.set_yscale("log")
            panels.ticks(axes.yaxis, b)
        label = panels.wrapped(outcome.label, panels.WIDTH)
        bar = figure.colorbar(image, ax=row.tolist(), label=label, pad=0.01)
        if estimated.empty:
            bar.set_ticks([])
    dot = {"ls": "none", "marker": "o", "color": "0.4", "ms": 4}
    marks = {f"setting: {panels.center(shown)}": Line2D([], [], **dot)}
    if points.loc[points["outcome"].isin(sweep.plot.show), "estimate"].isna().any():
        marks["no estimate"] = Line2D([], [], **dot | {"marker": "x", "color": "0.6"})
    panels.explain(figure, marks)
    return figure
