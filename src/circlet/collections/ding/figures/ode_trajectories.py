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


def draw(study: Study) -> Figure:
    """A panel per frequency of the first run."""
    lines = parquet.read_table(study, "ode_trajectories", "trajectory")
    panels.require(len(lines), "no run with enough steps to fit")
    lines = lines[lines["run_id"] == lines["run_id"].iloc[0]]
    frequencies = sorted(lines["frequency"].unique())
    figure, grid = panels.tiles(len(frequencies), 6, 1.65, 1.45, sharex=True, sharey=True)
    top = 1.15 * lines["signal"].max()
    for axes, k in zip(grid, frequencies, strict=True):
        circle = lines[lines["frequency"] == k]
        circle_panels.ode_lines(axes, circle)
        alive = bool(circle["survived"].iloc[0])
        colour = style.ORANGE if alive else style.GREY
        axes.set_title(f"k = {k}{' survives' if alive else ''}", pad=2, color=colour)
        axes.set(ylim=(0, top))
        axes.tick_params(labelsize=6)
        panels.plays(axes, lines["run_id"].iloc[0])
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    figure.supxlabel("step", fontsize=8)
    figure.supylabel("signal", fontsize=8)
    return figure
