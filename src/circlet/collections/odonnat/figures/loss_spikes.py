"""Odonnat et al., figures 4 and 5: loss spikes of networks that had solved their task. For the
highest spike of each amplifier: the loss, the probes over the decisions before and after, and how
far norm(ξ) moved. Bottom left, all spikes: how much the normalisation and the MLP amplify a motion
of the sequences that make half of the rise of the loss, relative to the median sequence; crosses
are the same between two quiet steps before, of the sequences whose loss rises most there, with
which the verdicts compare. Bottom right, the cause of the jump: the part whose weights once it has
begun, put into the network just before, make more than half of it. Representation: embedding and
attention; both: either alone; joint: only together.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from circlet.analysis import log_frames
from circlet.collections.odonnat import network_panels
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("heads",)
TABLES = ("snapshots", "losses", "spikes", "heads")

_TICKS = (0.01, 0.03, 0.1, 0.3, 0.5, 1, 2, 3, 10, 30, 100)
_AROUND = 20  # epochs on either side of a spike


def _row(part: SubFigure, rows: pd.DataFrame, losses: pd.DataFrame, per_epoch: int) -> None:
    moments = {moment: log_frames.arrays(group) for moment, group in rows.groupby("moment")}
    steps = rows.groupby("moment")["step"].first()
    left, *others, right = part.subplots(1, 4)
    near = losses[(losses["step"] - steps["before"]).abs() <= _AROUND * per_epoch]
    left.plot(near["step"] / per_epoch, near["train_loss"], color=style.BLUE, lw=1)
    left.axvline(steps["before"] / per_epoch, color=style.GREY, lw=0.7, ls="--")
    left.set(xlabel="epoch", ylabel="train loss (nat)", yscale="log")
    left.set_title("the spike")
    for axes, moment in zip(others, ("before", "after"), strict=True):
        network_panels.decisions(axes, moments[moment])
        axes.set_title(f"ξ and decisions, epoch {steps[moment] / per_epoch:.0f}")
        panels.plays(axes, rows["run_id"].iloc[0], steps[moment])
    before, after = moments["before"], moments["after"]
    network_panels.normed_embeddings(right, before)
    # Arrows from the probes' places before to those after, at their true length.
    moves = after["s_xy"] - before["s_xy"]
    colours = np.array(style.labels(before["probability"].shape[1]))[before["label"].astype(int)]
    right.quiver(*before["s_xy"].T, *moves.T, color=colours, angles="xy", scale_units="xy",
                 scale=1, width=0.006, zorder=3)  # fmt: skip
    right.set_title("motion of norm(ξ)")


def draw(study: Study) -> Figure:
    """A row of panels for the highest spike of each amplifier; last, the gains of all spikes."""
    snapshots = parquet.read_table(study, "snapshots", "heads")
    spikes = parquet.read_table(study, "spikes", "heads").dropna(subset=["norm_gain"])
    roles = [r for r in ("feed_forward", "normalisation") if (snapshots["role"] == r).any()]
    panels.require(roles, "no spike")
    losses = parquet.read_table(study, "losses", "heads")
    per_epoch = parquet.read_table(study, "heads").set_index("run_id")
    figure = Figure(figsize=(9.6, 2.7 * (len(roles) + 1)))
    parts = figure.subfigures(len(roles) + 1, 1)
    for part, role in zip(parts, roles, strict=False):
        rows = snapshots[snapshots["role"] == role]
        run_id = rows["run_id"].iloc[0]
        part.suptitle(f"amplified by {role.replace('_', ' ')}: {run_id}", fontsize=9)
        run_losses = losses[losses["run_id"] == run_id]
        _row(part, rows, run_losses, per_epoch.loc[run_id, "steps_per_epoch"])
    left, right = parts[-1].subplots(1, 2, width_ratios=[1.2, 1])
    _gains(left, spikes)
    _causes(right, spikes)
    return figure


def _gains(axes: Axes, spikes: pd.DataFrame) -> None:
    """Gains of the sequences that carry each spike, and of those that carry a quiet step before."""
    for cause, colour in zip(
        ("representation", "mlp", "both", "joint"), style.labels(4), strict=True
    ):
        group = spikes[spikes["cause"] == cause]
        axes.scatter(group["norm_gain"], group["mlp_gain"], s=10, color=colour, label=cause)
    axes.scatter(spikes["norm_gain_quiet"], spikes["mlp_gain_quiet"], s=8, color=style.GREY,
                 marker="x", lw=0.6, zorder=0)  # fmt: skip
    axes.axhline(1, color="0.8", lw=0.7, zorder=0)
    axes.axvline(1, color="0.8", lw=0.7, zorder=0)
    axes.set(xscale="log", yscale="log", xlabel="gain of the norm", ylabel="gain of the MLP")
    axes.minorticks_off()
    for set_ticks, ends in ((axes.set_xticks, axes.get_xlim()), (axes.set_yticks, axes.get_ylim())):
        inside = [tick for tick in _TICKS if ends[0] <= tick <= ends[1]]
        set_ticks(inside, [f"{tick:g}" for tick in inside])
    axes.legend(title="cause")
    n = spikes["run_id"].nunique()
    axes.set_title(f"{len(spikes)} spikes of {n} runs (×: quiet steps), by the median sequence")


def _causes(axes: Axes, spikes: pd.DataFrame) -> None:
    counts = spikes["cause"].value_counts()
    names = [n for n in ("representation", "both", "joint", "mlp") if n in counts]
    axes.barh(names[::-1], [counts[n] for n in names[::-1]], color=style.BLUE)
    axes.set_xlabel("spikes")
    axes.set_title("causes of the jumps")
