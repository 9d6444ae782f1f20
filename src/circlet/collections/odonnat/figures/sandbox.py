"""The visual sandbox: every layer of one network (Odonnat et al.) at its last step; the run is that
of figure 2. Colours are classes; in the panels of pairs they are tokens, and numbers are positions,
bold in the prefix. Numbers at clusters are the sums of their tokens, weighted by the integer
signature (none if it is not legal). For any other run and step, run: python -m circlet sandbox
RUN_ID --configfile CONFIG.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.analysis import log_frames
from circlet.collections.odonnat import network_panels
from circlet.plotting import panels
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
        panels.train_and_test(axes, losses.sort_values("step"), what, steps_per_epoch)
        axes.axvline(step / steps_per_epoch, color="0.7", lw=0.7)
        axes.tick_params(which="both", labelsize=6)
    grid[-2].set_yscale("log")
    grid[-1].legend(fontsize=6)
    return figure, grid


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
