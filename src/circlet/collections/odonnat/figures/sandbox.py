"""The visual sandbox: every layer of one network (Odonnat et al.) at its last step; the run is that
of figure 2. Colours are classes; in the panels of pairs they are tokens, and numbers are positions,
bold in the prefix. Numbers at clusters are the sums of their tokens, weighted by the integer
signature (none if it is not legal). For any other run and step, run: python -m circlet sandbox
RUN_ID --configfile CONFIG.
"""

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.analysis import log_frames
from circlet.collections.odonnat import network_panels
from circlet.collections.odonnat.network_panels import Moment
from circlet.plotting import panels, style
from circlet.storage import files, parquet
from circlet.study.plan import Study

ROLES = ("heads",)
TABLES = ("snapshots", "losses", "heads")

_PER_ROW, _SIDE = 4, 2.3  # panels in a row, and their side in inches


def drawn(moment: Moment, title: str) -> tuple[Figure, list[Axes]]:
    """A figure of a network, with a panel for each layer."""
    figure = Figure(figsize=(_PER_ROW * _SIDE, _PER_ROW * _SIDE * 1.06))
    figure.suptitle(title, fontsize=10 if len(title) < 90 else 7)
    grid = list(figure.subplots(_PER_ROW, _PER_ROW).flat)
    for axes, (name, draw_panel) in zip(grid, network_panels.PANELS.items(), strict=True):
        axes.set_title(name, fontsize=8, y=1.0)
        draw_panel(axes, moment)
    return figure, grid


def write(moment: Moment, title: str, path: Path) -> None:
    """Write the panels of a network to a file; its suffix decides the format."""
    with mpl.rc_context(style.RC), files.atomic(path) as temporary:
        drawn(moment, title)[0].savefig(temporary)


def draw(study: Study) -> Figure:
    """Draw the run that shows the two phases, at its last step."""
    snapshots = parquet.read_table(study, "snapshots", "heads")
    shown = snapshots[(snapshots["role"] == "two_phases") & (snapshots["moment"] == "last")]
    if shown.empty:
        return panels.nothing("no run that solved its task after its head had formed")
    run_id, step = shown["run_id"].iloc[0], int(shown["step"].iloc[0])
    losses = parquet.read_table(study, "losses", "heads").query("run_id == @run_id")
    per_epoch = study.experiment(study.reproduce["heads"])[0].steps_per_epoch
    moment = Moment(log_frames.arrays(shown), losses.sort_values("step"), step, per_epoch)
    figure, grid = drawn(moment, f"{run_id}: step {step}, epoch {step / per_epoch:.4g}")
    for axes in grid:
        panels.plays(axes, run_id, step)
    return figure
