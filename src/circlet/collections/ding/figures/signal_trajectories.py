"""The signal of every frequency during training, with survivors in colour (left), and the embedding
in the planes of two frequencies (right); Ding et al., figure 2. The planes are those of the
strongest frequency that dies and of the strongest that survives, at the start, halfway and at the
end.
"""

import numpy as np
from matplotlib.figure import Figure

from circlet.collections.ding import circle_panels
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("trajectory",)
TABLES = ("trajectories", "projections")


def draw(study: Study) -> Figure:
    """Left: every frequency's signal; right: projections at the start, half way and at the end."""
    signals = parquet.read_table(study, "trajectories", "trajectory").dropna(subset=["signal"])
    views = parquet.read_table(study, "projections", "trajectory").query("view == 'fourier'")
    panels.require(len(signals))
    run_id = signals["run_id"].iloc[0]
    figure = Figure(figsize=(8.6, 3.6))
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.15])
    axes = left.subplots()
    circle_panels.by_survival(axes, signals[signals["run_id"] == run_id], "signal")
    axes.set(xlabel="step", ylabel="signal $\\Vert F_k \\Vert$", yscale="log")
    axes.set_title(f"all frequencies of one run ({run_id.rsplit('/', 1)[1]})")
    panels.plays(axes, run_id)

    steps = np.sort(views["step"].unique())
    half = steps[np.abs(steps - steps[-1] / 2).argmin()]
    shown = list(dict.fromkeys([steps[0], half, steps[-1]]))
    grid = right.subplots(2, len(shown), squeeze=False)
    circles = views[views["step"] == steps[0]].drop_duplicates("index")
    for row, alive in zip(grid, (False, True), strict=True):
        chosen = circles[circles["survived"].astype(bool) == alive].sort_values("rank")
        for axes, step in zip(row, shown, strict=True):
            if chosen.empty:
                panels.missing(axes, "no circle survives" if alive else "no circle dies")
                continue
            k = chosen["index"].iloc[0]
            plane = views[(views["index"] == k) & (views["step"] == step)]
            circle_panels.plane(axes, plane, reach=1.1 * np.abs(views[["x", "y"]]).max().max())
            kind = "survives" if alive else "dies"
            axes.set_title(f"k = {k} {kind}, step {step}", fontsize=7,
                           color=style.ORANGE if alive else style.GREY)  # fmt: skip
    return figure
