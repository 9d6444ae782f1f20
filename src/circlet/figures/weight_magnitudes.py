"""Weight decay limits weights and biases of the hidden layer (Mușat, figure 6)."""

import seaborn as sns
from matplotlib.figure import Figure

from circlet import io
from circlet.figures import style
from circlet.plan import Study

ROLES = ("weight_magnitudes",)
TABLES = ("weight_magnitudes",)

LABELS = {"mean_abs_weight": "mean $|W_h|$", "mean_abs_bias": "mean $|b_h|$"}


def draw(study: Study) -> Figure:
    """Mean over runs with its 95 % interval, and every run as a dot."""
    frame = io.read_table(study, "weight_magnitudes")
    frame = frame[
        (frame["experiment"] == study.reproduce["weight_magnitudes"]) & (frame["layer"] == "hidden")
    ]
    figure = Figure(figsize=(5.6, 3.6))
    axes = figure.subplots()
    for (column, label), colour in zip(LABELS.items(), (style.BLUE, style.ORANGE), strict=True):
        axes.scatter(frame["weight_decay"], frame[column], s=5, color=colour, alpha=0.3, lw=0)
        sns.lineplot(
            data=frame, x="weight_decay", y=column, color=colour, label=label, marker="o",
            errorbar=lambda x: (x.mean() - 1.96 * x.sem(), x.mean() + 1.96 * x.sem()), ax=axes,
        )  # fmt: skip
    runs = frame.groupby("weight_decay").size()
    axes.set(
        xlabel="weight decay",
        ylabel="mean absolute value, hidden layer",
        title=f"{runs.min()} runs per weight decay; bands: 95 % intervals of the mean",
        ylim=(0, None),
    )
    return figure
