"""Difference between Mușat's table 1 and the mean of networks with each initialisation that the
paper may have used, in standard deviations of a sample of 100 runs. Positive: the published value
is higher. Right: probability that a sample's whole table lies as far away as the paper's (p,
corrected for the number of initialisations).
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("initialisations",)
TABLES = ("initialisations",)

_NAMES = {
    "circles": "circles",
    "circle_accuracy": "accuracy of circles",
    "non_circle_accuracy": "accuracy of others",
    "imperfections": "imperfections",
    "correlation": "correlation",
}
_MOST = 4.0  # standard deviations, ends of the colours


def draw(study: Study) -> Figure:
    """A row per initialisation, a column per cell of the table."""
    table = parquet.read_table(study, "initialisations")
    panels.require(len(table), "no initialisation has 100 runs at every weight decay")
    table["row"] = table["initialisation"] + np.where(
        table["embedding_std"] == 1, "", table["embedding_std"].map(", embedding {:g}".format)
    )
    rows = list(table["row"].unique())
    by_cell = table[table["cell"] != "all"]
    columns = pd.MultiIndex.from_frame(by_cell[["weight_decay", "cell"]]).unique()
    z = by_cell.pivot(index="row", columns=columns.names, values="z").loc[rows, columns].to_numpy()
    figure, (axes,) = panels.row(1, 11, 1.6 + 0.42 * len(rows))
    image = axes.imshow(z, cmap=style.DIVERGING, vmin=-_MOST, vmax=_MOST, aspect="auto")
    for (i, j), value in np.ndenumerate(z):
        if np.isfinite(value):
            shade = "white" if abs(value) > 0.7 * _MOST else "black"
            axes.text(j, i, f"{value:+.1f}", ha="center", va="center", fontsize=7, color=shade)
    axes.set_yticks(range(len(rows)), rows)
    labels = [f"{_NAMES[cell]}, {decay:g}" for decay, cell in columns]
    axes.set_xticks(range(len(columns)), labels, rotation=40, ha="right", fontsize=7.5)
    axes.set_xlabel("cell of table 1, weight decay")
    whole = table[table["cell"] == "all"].set_index("row")
    right = axes.twinx()
    right.set_ylim(axes.get_ylim())
    words = [f"p = {p:.2g}" if p >= 0.001 else "p < 0.001" for p in whole.loc[rows, "p_holm"]]
    right.set_yticks(range(len(rows)), words)
    right.tick_params(length=0)
    right.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, label="published − here (sd)", pad=0.12, shrink=0.9)
    return figure
