"""Outcome of every combination of seeds for initialisation, data and order of batches (left), and
the share of the variance that each seed explains (right): for the initialisation, with a given
train set. The rest of the variance is interaction with the order, and chaos.
"""

import numpy as np
from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("seed_effects",)
TABLES = ("heads", "seed_effects")


def draw(study: Study) -> Figure:
    """Left: last test accuracy, a column per initialisation; right: shares of variance."""
    runs = parquet.read_table(study, "heads", "seed_effects")
    effects = parquet.read_table(study, "seed_effects", "seed_effects")
    panels.require(len(runs))
    figure, (left, right) = panels.row(2, 9.2, 3, width_ratios=[2, 1])
    table = runs.pivot_table(
        index=["data_seed", "order_seed"], columns="embedding_seed", values="test_accuracy"
    )
    table = table[table.mean().sort_values().index]
    image = left.imshow(table, aspect="auto", cmap="viridis", vmin=0.4, vmax=1)
    figure.colorbar(image, ax=left, label="last test accuracy", shrink=0.9)
    left.set_yticks(range(len(table)), [f"{d}, {o}" for d, o in table.index], fontsize=7)
    left.set_xticks([])
    left.set(xlabel=f"{table.shape[1]} initialisations, by mean accuracy", ylabel="data, order")
    estimated = effects.dropna(subset=["share"])
    y = np.arange(len(estimated))
    ends = np.abs(
        [estimated["share"] - estimated["share_low"], estimated["share_high"] - estimated["share"]]
    )
    right.errorbar(estimated["share"], y, xerr=np.nan_to_num(ends.astype(float)), color=style.BLUE,
                   marker="o", ls="none", capsize=3)  # fmt: skip
    names = [f"{r.factor}\n({r.levels} seeds)" for r in estimated.itertuples()]
    right.set_yticks(y, names, fontsize=7)
    right.set(xlim=(-0.03, 1), ylim=(-0.6, len(estimated) - 0.4))
    right.set(xlabel="share of the variance of the accuracy")
    right.set_title("partial, 95 % intervals")
    return figure
