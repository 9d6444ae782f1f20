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
    if losses.empty:
        return panels.nothing("no finished run with its parameters logged")
    losses = losses[losses["run_id"] == losses["run_id"].iloc[0]]
    figure = Figure(figsize=(9.2, 3.1))
    whole = losses[losses["n_kept"] == 0].sort_values("step")
    names = {1: "one circle", 2: "two circles", 3: "three circles"}
    for axes, (n, name) in zip(figure.subplots(1, 3, sharey=True), names.items(), strict=True):
        choices = losses[losses["n_kept"] == n]
        for _, line in choices.groupby(choices["kept"].map(tuple)):
            line = line.sort_values("step")
            axes.plot(line["step"], line["loss"], color=style.BLUE, alpha=0.6, lw=0.9)
        axes.plot(whole["step"], whole["loss"], color=style.ORANGE, ls="--", lw=1)
        n_choices = choices["kept"].map(tuple).nunique()
        axes.set_title(f"{name} left, {n_choices} choices", fontsize=8)
        axes.set(xlabel="step", ylabel="loss on all pairs (nat)", yscale="log")
        axes.locator_params(axis="x", nbins=4)
        axes.label_outer()
        panels.plays(axes, losses["run_id"].iloc[0])
    axes.plot([], [], color=style.ORANGE, ls="--", label="all frequencies")
    axes.legend(fontsize=7)
    return figure
