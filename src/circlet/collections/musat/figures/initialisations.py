"""Difference between Mușat's table 1 and the mean of networks with each initialisation that the
paper may have used, in standard deviations of a sample of 100 runs. Positive: the published value
is higher. p: probability that a sample's whole table lies as far away as the paper's, corrected for
the number of initialisations.
"""

import numpy as np
import pandas as pd
import seaborn as sns
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
_ENDS = 4.0  # standard deviations, ends of the colours


def draw(study: Study) -> Figure:
    """A row per initialisation, a column per cell of the table."""
    table = parquet.read_table(study, "initialisations")
    panels.require(len(table), "no initialisation has 100 runs at every weight decay")
    table["row"] = table["initialisation"] + np.where(
        table["embedding_std"] == 1, "", table["embedding_std"].map(", embedding {:g}".format)
    )
    by_cell = table[table["cell"] != "all"]
    columns = pd.MultiIndex.from_frame(by_cell[["weight_decay", "cell"]]).unique()
    z = by_cell.pivot(index="row", columns=columns.names, values="z")
    p = table[table["cell"] == "all"].set_index("row")["p_holm"]
    rows = list(p.index)
    figure, (axes,) = panels.row(1, 11, 1.6 + 0.42 * len(rows))
    sns.heatmap(
        z.loc[rows, columns].astype(float), ax=axes, cmap=style.DIVERGING, vmin=-_ENDS, vmax=_ENDS,
        annot=True, fmt="+.1f", annot_kws={"size": 7}, cbar_kws={"label": "published − here (sd)"},
        xticklabels=[f"{_NAMES[cell]}, {decay:g}" for decay, cell in columns],
        yticklabels=[
            f"{row}: " + (f"p = {p[row]:.2g}" if p[row] >= 0.001 else "p < 0.001") for row in rows
        ],
    )  # fmt: skip
    axes.set(xlabel="cell of table 1, weight decay", ylabel="")
    axes.set_xticklabels(axes.get_xticklabels(), rotation=40, ha="right", fontsize=7.5)
    return figure
