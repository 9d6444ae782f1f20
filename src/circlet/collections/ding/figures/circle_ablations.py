"""Ding et al., figure 8. Loss on all pairs of a trained network if its embedding keeps only one,
two or three of the surviving circles, against the training step. Each line keeps other circles.
"""

from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("ablations",)
TABLES = ("circle_ablations",)


def draw(study: Study) -> Figure:
    """A panel per number of circles: every choice a line, the whole embedding dashed."""
    losses = parquet.read_table(study, "circle_ablations", "ablations")
    panels.require(len(losses), "no finished run with its parameters logged")
    losses = losses[losses["run_id"] == losses["run_id"].iloc[0]]
    figure, grid = panels.row(3, 9.2, 3.1, sharey=True)
    whole = losses[losses["n_kept"] == 0]
    names = {1: "one circle", 2: "two circles", 3: "three circles"}
    for axes, (n, name) in zip(grid, names.items(), strict=True):
        some = losses[losses["n_kept"] == n]
        choices = some.groupby(some["kept"].map(tuple))
        for _, line in choices:
            axes.plot(line["step"], line["loss"], color=style.BLUE, alpha=0.6, lw=0.9)
        axes.plot(whole["step"], whole["loss"], color=style.ORANGE, ls="--", lw=1)
        axes.set_title(f"{name} left, {len(choices)} choices")
        axes.set(xlabel="step", ylabel="loss on all pairs (nat)", yscale="log")
        axes.locator_params(axis="x", nbins=4)
        axes.label_outer()
        panels.plays(axes, losses["run_id"].iloc[0])
    axes.plot([], [], color=style.ORANGE, ls="--", label="all frequencies")
    axes.legend()
    return figure
