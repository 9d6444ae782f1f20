"""Laws of the signals that all runs share, fitted to half of the runs and scored on the others.
Left: share of the squared change in a step that a law leaves (1 − R²), by window of steps. The law
with 870 coefficients lets every frequency act on every other; the law with three is a · signal + b
· mean + c. Middle: agreement of the survivors with those that a law predicts from a step on. Grey:
the strongest signals of that step, in the number of survivors; no law of signal and mean can do
better. Right: signals of a run (lines), and the prediction of the law with three coefficients from
step 50 (dashed).
"""

import numpy as np
from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("shared_law",)
TABLES = ("shared_laws", "shared_law_rollouts", "shared_law_paths")

_LAWS = {
    "unconstrained": ("every frequency on every other", style.GREEN),
    "three_numbers": ("three numbers", style.BLUE),
    "mean_field": ("moments", style.LIGHT_BLUE),
    "memory": ("moments and last change", style.ORANGE),
    "persistence": ("last change alone", style.PINK),
    "order": ("strongest signals of the step", style.GREY),
}
_START = 50


def draw(study: Study) -> Figure:
    """Draw residuals by window, agreement of survivors by start, and a run with its prediction."""
    laws = parquet.read_table(study, "shared_laws", "shared_law")
    rollouts = parquet.read_table(study, "shared_law_rollouts", "shared_law")
    path = parquet.read_table(study, "shared_law_paths", "shared_law")
    panels.require(len(laws), "too few runs with signals of every step, or p is not prime")
    figure, (left, middle, right) = panels.row(3, 11, 3.8)
    windows = laws[["first_step", "last_step"]].drop_duplicates().to_numpy().tolist()
    for name, (text, colour) in _LAWS.items():
        of_law = laws[laws["law"] == name]
        rest = 1 - of_law["r2"]
        ends = np.clip([of_law["r2_high"] - of_law["r2"], of_law["r2"] - of_law["r2_low"]], 0, None)
        left.errorbar(range(len(of_law)), rest, ends, color=colour, marker="o", ls="", ms=4, lw=1)
        from_step = rollouts[rollouts["law"] == name]
        from_step = from_step.assign(step=from_step["step"].clip(lower=1))
        panels.band(middle, from_step, "step", "jaccard", colour, text)
    left.set_xticks(range(len(windows)), [f"{a}–{b}" for a, b in windows], fontsize=7)
    left.set(xlabel="steps", ylabel="1 − R² of the change in a step", yscale="log")
    left.axhline(1, color=style.GREY, lw=0.6)
    middle.set(xscale="log", xlabel="first step that the law predicts (1: from 0)",
               ylabel="Jaccard index of survivors", ylim=(0, 1.02))  # fmt: skip
    start = path[path["first_step"] == _START]
    for _, rows in start.groupby("frequency"):
        colour = style.BLUE if rows["survived"].iloc[0] else "0.75"
        right.plot(rows["step"], rows["signal"], color=colour, lw=1)
        right.plot(rows["step"], rows["predicted"], color=colour, lw=0.9, ls="--")
    right.set(xlabel="step", ylabel="signal", ylim=(0, None))
    n_fitted, n_scored = laws["n_fitted"].max(), laws["r2_n"].max()
    left.set_title(f"one step (fitted to {n_fitted} runs, scored on {n_scored})")
    middle.set_title("rolled out to the end")
    right.set_title("a run that was not fitted; blue survive")
    figure.legend(loc="outside lower center", ncols=6)
    return figure
