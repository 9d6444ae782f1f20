"""Odonnat et al., ablations: share of runs that solve p = 2, share with a clustering head, and mean
test accuracy, by hyperparameter; all others at their defaults. All runs have the same number of
epochs, so larger batches take fewer steps. Bars are 95 % intervals.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study
from circlet.study.points import Point

OPTIONAL_ROLES = (
    "batch_sizes",
    "learning_rates",
    "mlp_divisors",
    "widths",
    "biases",
    "dropouts",
    "heads",
)
TABLES = ("outcome_summary",)

_PARAMETERS = {
    "batch_sizes": ("batch_size", "batch size"),
    "learning_rates": ("learning_rate", "learning rate"),
    "mlp_divisors": ("mlp_divisor", "divisor of the MLP's learning rate"),
    "widths": ("hidden", "width of the MLP"),
    "biases": ("bias", "bias of the MLP"),
    "dropouts": ("dropout", "dropout"),
}


def _values(study: Study, role: str, summary: pd.DataFrame) -> pd.DataFrame:
    """Return rows of an ablation, and of ``heads`` if it differs only in the swept parameter."""
    x = _PARAMETERS[role][0]
    points = study.experiment(study.reproduce[role])
    shown = [point.key for point in points]
    if "heads" in study.reproduce:
        shown += [
            point.key
            for point in study.experiment(study.reproduce["heads"])
            if _apart(point, x) == _apart(points[0], x)
        ]
    keys = pd.MultiIndex.from_frame(summary[["experiment", "point"]])
    rows = summary[keys.isin(shown) & (summary["n_runs"] > 0)]
    rows = rows.assign(x=rows[x].astype(float))
    return rows.drop_duplicates(["x", "outcome"]).sort_values("x")


def _apart(point: Point, name: str) -> dict:
    """Return what distinguishes a point, without one parameter."""
    epochs = point.steps / point.steps_per_epoch
    return point.parameters | {name: None, "epochs": epochs, "dtype": point.settings.dtype}


def _panel(axes: Axes, rows: pd.DataFrame, label: str, discrete: bool) -> None:
    for name, colour, text in (
        ("success", style.BLUE, "solved (test accuracy > 0.98)"),
        ("head_present", style.GREEN, "with a head"),
        ("test_accuracy", style.ORANGE, "mean test accuracy"),
    ):
        curve = rows[rows["outcome"] == name]
        center = curve["estimate"].astype(float)
        ends = np.abs([center - curve["low"], curve["high"] - center])
        axes.errorbar(curve["x"], center, np.nan_to_num(ends), color=colour, marker="o", ms=3, lw=1,
                      capsize=2, label=text, ls="none" if discrete else "-")  # fmt: skip
    axes.set(xlabel=label, ylabel="share of runs, accuracy", ylim=(-0.03, 1.03))
    counts = sorted({rows["n_runs"].min(), rows["n_runs"].max()})
    axes.set_title(f"{' to '.join(map(str, counts))} runs per value")


def draw(study: Study) -> Figure:
    """A panel per ablation that the study has."""
    summary = parquet.read_table(study, "outcome_summary")
    shown = {}
    for role in _PARAMETERS:
        if role in study.reproduce and len(rows := _values(study, role, summary)):
            shown[role] = rows
    panels.require(shown, "no ablation of the network is run")
    figure, grid = panels.tiles(len(shown), 3, 3.5, 2.9)
    for axes, (role, rows) in zip(grid, shown.items(), strict=True):
        _panel(axes, rows, _PARAMETERS[role][1], role == "biases")
        if role == "biases":
            axes.set_xticks([0, 1], ["off", "on"])
            axes.set_xlim(-0.5, 1.5)
        elif role != "dropouts":
            axes.set_xscale("log")
            axes.minorticks_off()
            if len(values := sorted(set(rows["x"]))) <= 5:
                axes.set_xticks(values, [f"{x:g}" for x in values])
    grid[0].legend(fontsize=6)
    return figure
