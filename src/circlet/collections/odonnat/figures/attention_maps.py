"""Attention at the first and last step of one run, and final attention of all runs to the
distractors; Odonnat et al. The run is that of figure 2, the probes have class 1. The line is the
end of the prefix; the scale ends at 0.2 or above.
"""

import numpy as np
from matplotlib.figure import Figure

from circlet.analysis import log_frames
from circlet.collections.odonnat import network_panels
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("heads",)
TABLES = ("snapshots", "heads")


def draw(study: Study) -> Figure:
    """Probes of class 1 by position, first and last step; then the mass on the distractors."""
    snapshots = parquet.read_table(study, "snapshots", "heads").query("role == 'two_phases'")
    heads = parquet.read_table(study, "heads", "heads")
    panels.require(len(snapshots), "no run that solved its task after its head had formed")
    figure, (left, middle, right) = panels.row(3, 9.2, 3, width_ratios=[1, 1, 1.3])
    for axes, moment in ((left, "initial"), (middle, "last")):
        rows = snapshots[snapshots["moment"] == moment]
        view = log_frames.arrays(rows)
        network_panels.attention(axes, view)
        axes.set_xticks(range(view["attention"].shape[1]), range(1, view["attention"].shape[1] + 1))
        axes.tick_params(labelsize=6)
        axes.set_xlabel("position", fontsize=9)
        axes.set_ylabel("probes of class 1", fontsize=9)
        axes.set_title(f"{rows['run_id'].iloc[0]}, step {rows['step'].iloc[0]}", fontsize=7)
        panels.plays(axes, rows["run_id"].iloc[0], rows["step"].iloc[0])
    solved = heads["success"].astype(bool)
    bins = np.linspace(0, 1, 31)
    for name, runs, colour in (
        ("solved", heads[solved], style.BLUE),
        ("not solved", heads[~solved], style.ORANGE),
    ):
        right.hist(runs["distractor_attention"], bins, color=colour, alpha=0.6,
                   label=f"{name} ({len(runs)} runs)")  # fmt: skip
    length, k = (study.points[0].parameters[name] for name in ("length", "k"))
    right.axvline(1 - k / length, color=style.GREY, ls="--", lw=0.8, label="uniform")
    right.set(xlabel="attention to the distractors", ylabel="runs")
    right.legend()
    return figure
