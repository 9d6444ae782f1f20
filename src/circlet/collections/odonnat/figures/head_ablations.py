"""Odonnat et al., ablations: share of runs that solve p = 2, share with a clustering head, and mean
test accuracy, by hyperparameter; all others at their defaults. All runs have the same number of
epochs, so larger batches take fewer steps. Bands are 95 % intervals.
"""

import pandas as pd
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
    "batch_sizes": ("batch_size", "batch size", "log"),
    "learning_rates": ("learning_rate", "learning rate", "log"),
    "mlp_divisors": ("mlp_divisor", "divisor of the MLP's learning rate", "log"),
    "widths": ("hidden", "width of the MLP", "log"),
    "biases": ("bias", "bias of the MLP (0: off, 1: on)", "linear"),
    "dropouts": ("dropout", "dropout", "linear"),
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
    return rows.assign(x=rows[x].astype(float)).drop_duplicates(["x", "outcome"])


def _apart(point: Point, name: str) -> dict:
    """Return what distinguishes a point, without one parameter."""
    epochs = point.steps / point.steps_per_epoch
    return point.parameters | {name: None, "epochs": epochs, "dtype": point.settings.dtype}


def draw(study: Study) -> Figure:
    """A panel per ablation that the study has."""
    summary = parquet.read_table(study, "outcome_summary")
    found = {r: _values(study, r, summary) for r in _PARAMETERS if r in study.reproduce}
    shown = {role: rows for role, rows in found.items() if len(rows)}
    panels.require(shown, "no ablation of the network is run")
    figure, grid = panels.tiles(len(shown), 3, 3.5, 2.9)
    for axes, (role, rows) in zip(grid, shown.items(), strict=True):
        for outcome, colour, text in (
            ("success", style.BLUE, "solved (test accuracy > 0.98)"),
            ("head_present", style.GREEN, "with a head"),
            ("test_accuracy", style.ORANGE, "mean test accuracy"),
        ):
            panels.outcome(axes, rows, "x", outcome, colour, text)
        _, label, scale = _PARAMETERS[role]
        axes.set(xlabel=label, ylabel="share of runs, accuracy", xscale=scale, ylim=(-0.03, 1.03))
        counts = sorted({rows["n_runs"].min(), rows["n_runs"].max()})
        axes.set_title(f"{' to '.join(map(str, counts))} runs per value")
    grid[0].legend(fontsize=6)
    return figure
