"""Mean absolute weights and biases of the hidden layer at the end of training, against weight
decay; Mușat, figure 6. Biases shrink more than weights: the ratio of the two falls. Dots are runs,
bands are 95 % intervals of the mean.
"""

from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("weight_magnitudes",)
TABLES = ("weight_magnitude_means", "weight_magnitudes")

_LABELS = {"mean_abs_weight": "mean $|W_h|$", "mean_abs_bias": "mean $|b_h|$"}


def draw(study: Study) -> Figure:
    """Mean over runs with its 95 % interval, and every run as a dot."""
    runs = parquet.read_table(study, "weight_magnitudes", "weight_magnitudes")
    runs = runs.query("layer == 'hidden'")
    means = parquet.read_table(study, "weight_magnitude_means").query("layer == 'hidden'")
    figure = Figure(figsize=(5.6, 3.6))
    axes = figure.subplots()
    for (column, label), colour in zip(_LABELS.items(), (style.BLUE, style.ORANGE), strict=True):
        axes.scatter(runs["weight_decay"], runs[column], s=5, color=colour, alpha=0.3, lw=0)
        panels.band(axes, means, "weight_decay", column, colour, label)
    axes.set(
        xlabel="weight decay",
        ylabel="mean absolute value, hidden layer",
        title=f"{means['n_runs'].min()} runs per weight decay; bands: 95 % intervals of the mean",
        ylim=(0, None),
    )
    axes.legend()
    return figure
