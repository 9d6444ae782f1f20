"""The visual sandbox: every layer of one network (Odonnat et al.) at its last step; the run is that
of figure 2. Colours are classes; in the panels of pairs they are tokens, and numbers are positions,
bold in the prefix. Numbers at clusters are the sums of their tokens, weighted by the integer
signature (none if it is not legal). For any other run and step, run: python -m circlet sandbox
RUN_ID --configfile CONFIG.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from circlet.analysis import log_frames
from circlet.collections.odonnat import network_panels
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("heads",)
TABLES = ("snapshots", "losses", "heads")

_PER_ROW, _SIDE = 4, 2.3  # panels in a row, and their side in inches


def drawn(
    view: network_panels.View, losses: pd.DataFrame, run_id: str, step: int, steps_per_epoch: int
) -> tuple[Figure, list[Axes]]:
    """A figure of a run's network, with a panel for each layer, and the curves of the run."""
    title = f"{run_id}: step {step}, epoch {step / steps_per_epoch:.4g}"
    figure = Figure(figsize=(_PER_ROW * _SIDE, _PER_ROW * _SIDE * 1.06))
    figure.suptitle(title, fontsize=10 if len(title) < 90 else 7)
    grid = list(figure.subplots(_PER_ROW, _PER_ROW).flat)
    for axes, (name, draw_panel) in zip(grid, network_panels.PANELS.items(), strict=False):
        axes.set_title(name, y=1.0)
        draw_panel(axes, view)
    for axes, what in zip(grid[-2:], ("loss", "accuracy"), strict=True):
        _curves(axes, losses.sort_values("step"), what, step, steps_per_epoch)
    return figure, grid


def _curves(axes: Axes, losses: pd.DataFrame, what: str, step: int, steps_per_epoch: int) -> None:
    epoch = losses["step"] / steps_per_epoch
    so_far = losses["step"] <= step
    for part, colour in (("train", "black"), ("test", style.GREY)):  # blue and orange are classes
        line = losses[f"{part}_{what}"]
        axes.plot(epoch, line, color=colour, lw=0.5, alpha=0.3)
        axes.plot(epoch[so_far], line[so_far], color=colour, lw=1, label=part)
    axes.axvline(step / steps_per_epoch, color="0.7", lw=0.7)
    axes.tick_params(which="both", labelsize=6)
    axes.legend(fontsize=6, loc="best")
    if what == "loss":
        axes.set_title("loss (nat), by epoch", y=1.0)
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_title("accuracy, by epoch", y=1.0)
        axes.set_ylim(0, 1.05)


def draw(study: Study) -> Figure:
    """Draw the run that shows the two phases, at its last step."""
    snapshots = parquet.read_table(study, "snapshots", "heads")
    shown = snapshots[(snapshots["role"] == "two_phases") & (snapshots["moment"] == "last")]
    panels.require(len(shown), "no run that solved its task after its head had formed")
    run_id, step = shown["run_id"].iloc[0], int(shown["step"].iloc[0])
    losses = parquet.read_table(study, "losses", "heads").query("run_id == @run_id")
    per_epoch = study.experiment(study.reproduce["heads"])[0].steps_per_epoch
    figure, grid = drawn(log_frames.arrays(shown), losses, run_id, step, per_epoch)
    for axes in grid:
        panels.plays(axes, run_id, step)
    return figure
