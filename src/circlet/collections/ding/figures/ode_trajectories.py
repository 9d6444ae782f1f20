"""Ding et al., figure 16. Signals of all frequencies of one run, and the rollouts of the fits from
step 0.
"""

from matplotlib.figure import Figure

from circlet.collections.ding import circle_panels
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("trajectory",)
TABLES = ("ode_trajectories",)

_PER_ROW = 6


def draw(study: Study) -> Figure:
    """A panel per frequency of the first run."""
    lines = parquet.read_table(study, "ode_trajectories", "trajectory")
    if lines.empty:
        return panels.nothing("no run with enough steps to fit")
    lines = lines[lines["run_id"] == lines["run_id"].iloc[0]]
    frequencies = sorted(lines["frequency"].unique())
    rows = -(-len(frequencies) // _PER_ROW)
    figure = Figure(figsize=(1.65 * _PER_ROW, 1.25 * rows + 0.4))
    grid = figure.subplots(rows, _PER_ROW, squeeze=False, sharex=True, sharey=True).ravel()
    top = 1.15 * lines["signal"].max()
    for axes, k in zip(grid, frequencies, strict=False):
        circle = lines[lines["frequency"] == k]
        circle_panels.ode_lines(axes, circle)
        alive = bool(circle["survived"].iloc[0])
        axes.set_title(f"k = {k}{' survives' if alive else ''}", fontsize=7, pad=2,
                       color=style.ORANGE if alive else style.GREY)  # fmt: skip
        axes.set(ylim=(0, top))
        axes.tick_params(labelsize=6)
        panels.plays(axes, lines["run_id"].iloc[0])
    for axes in grid[len(frequencies) :]:
        axes.axis("off")
    legend = grid[0].get_legend_handles_labels()
    if len(frequencies) < len(grid):
        grid[-1].legend(*legend, loc="center", fontsize=7)
    else:
        figure.legend(*legend, loc="outside lower center", ncols=len(legend[0]), fontsize=7)
    figure.supxlabel("step", fontsize=8)
    figure.supylabel("signal", fontsize=8)
    return figure
