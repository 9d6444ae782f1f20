"""Beyond the papers: laws that all runs share, fitted to half of the runs and scored on the others.
Left: R² of the change per step, by window of steps. The law with 870 coefficients lets every
frequency act on every other; with 30, only the ratio of two frequencies matters; the law with three
is a · signal + b · mean + c. Points drawn at −0.5 are lower. Middle: agreement of the survivors
with those that a law predicts from a step on. Grey: the strongest signals of that step, as many as
survive; no law of signal and mean can do better. Right: signals of a run (lines), and the
prediction of the law with three coefficients from step 50 (dashed).
"""

import numpy as np
from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("shared_law",)
TABLES = ("shared_laws", "shared_law_rollouts", "shared_law_paths")

_LAWS = {
    "unconstrained": ("{} numbers", style.GREEN, "s"),
    "equivariant": ("{} numbers: ratios alone", style.ORANGE, "D"),
    "three_numbers": ("3 numbers", style.BLUE, "o"),
    "mean_field": ("3 to 8 terms of signal and moments", style.LIGHT_BLUE, "v"),
}
_LOWEST = -0.5
_START = 50


def draw(study: Study) -> Figure:
    """R^2 by window, survivors by start, and a run beside its prediction."""
    laws = parquet.read_table(study, "shared_laws", "shared_law")
    rollouts = parquet.read_table(study, "shared_law_rollouts", "shared_law")
    path = parquet.read_table(study, "shared_law_paths", "shared_law")
    if laws.empty:
        return panels.nothing("too few runs with signals of every step, or p is not prime")
    figure, (left, middle, right) = panels.row(3, 11, 3.4)
    windows = laws[["first_step", "last_step"]].drop_duplicates().to_numpy().tolist()
    for i, (name, (text, colour, marker)) in enumerate(_LAWS.items()):
        own = laws[laws["law"] == name]
        y = own["r2"].to_numpy().clip(_LOWEST)
        ends = np.clip([own["r2"] - own["r2_low"], own["r2_high"] - own["r2"]], 0, None)
        ends = np.where(own["r2"] < _LOWEST, 0, np.minimum(ends, np.abs(y - _LOWEST)))
        at = np.arange(len(own)) + 0.15 * (i - 1.5)
        label = text.format(own["n_coefficients"].iloc[0])
        left.errorbar(at, y, ends, color=colour, marker=marker, ls="", ms=4, lw=1, label=label)
    left.set_xticks(range(len(windows)), [f"{a}–{b}" for a, b in windows], fontsize=7)
    left.set(xlabel="steps", ylabel="R² of the change in a step", ylim=(2 * _LOWEST - 0.1, 1.02))
    left.axhline(0, color=style.GREY, lw=0.6)
    left.legend(fontsize=6.5, loc="lower right")
    drawn = {name: _LAWS[name][1] for name in ("unconstrained", "equivariant", "three_numbers")}
    for name, colour in (drawn | {"order": style.GREY}).items():
        own = rollouts[rollouts["law"] == name]
        own = own.assign(step=own["step"].clip(lower=1))
        of_order = "strongest of the step" if name == "order" else None
        panels.band(middle, own, "step", "jaccard", colour, of_order)
    middle.set(xscale="log", xlabel="first step that the law predicts (1: from 0)",
               ylabel="Jaccard index of survivors", ylim=(0, 1.02))  # fmt: skip
    middle.legend(fontsize=7)
    start = path[path["first_step"] == _START]
    for _, rows in start.groupby("frequency"):
        colour = style.BLUE if rows["survived"].iloc[0] else "0.75"
        right.plot(rows["step"], rows["signal"], color=colour, lw=1)
        right.plot(rows["step"], rows["predicted"], color=colour, lw=0.9, ls="--")
    right.set(xlabel="step", ylabel="signal", ylim=(0, None))
    n_fitted, n_scored = laws["n_fitted"].max(), laws["r2_n"].max()
    left.set_title(f"fitted to {n_fitted} runs, scored on {n_scored}", fontsize=8)
    right.set_title("a run that was not fitted; blue survive", fontsize=8)
    return figure
