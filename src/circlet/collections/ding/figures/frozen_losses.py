"""Ding et al., figure 4. Test loss of networks whose embedding stays as initialised, against its
dimension d. From d = p on (dotted) a random embedding spans every circle. Dots are runs, bands 95 %
intervals of the mean; as in the paper, losses above 1 are cut off.
"""

from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("frozen",)
TABLES = ("frozen_losses", "losses")


def draw(study: Study) -> Figure:
    """A panel per step: every run a dot, the mean with its interval, and the line d = p."""
    means = parquet.read_table(study, "frozen_losses")
    runs = parquet.read_table(study, "losses", "frozen")
    panels.require(len(means), "no run with a frozen embedding reached step 500")
    steps = sorted(means["step"].unique())
    figure, grid = panels.row(len(steps), 2.5 * len(steps) + 0.8, 2.9)
    for axes, step in zip(grid, steps, strict=True):
        at_step, dots = means[means["step"] == step], runs[runs["step"] == step]
        axes.scatter(dots["d"], dots["test_loss"], s=7, color=style.BLUE, alpha=0.35, lw=0)
        panels.band(axes, at_step, "d", "test_loss", style.BLUE)
        p = at_step["p"].iloc[0]
        axes.axvline(p, color=style.ORANGE, linestyle=":")
        above = int((dots["test_loss"] > 1).sum())
        title = f"step {step}, d = p at {p}\n{at_step['n_runs'].min()} runs per d, {above} above 1"
        axes.set_title(title)
        axes.set(xlabel="embedding dimension d", ylabel="test loss (nat)", ylim=(0, 1))
    return figure
