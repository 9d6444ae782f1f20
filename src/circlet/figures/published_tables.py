"""Tables 1 and 2 of Mușat beside ours: every cell, published against measured."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet import io
from circlet.figures import style
from circlet.plan import Study

OPTIONAL_ROLES = ("table1", "table2", "weight_magnitudes")
TABLES = ("scorecard",)

# Title of a panel and the end of the claims in it.
PANELS = {
    "Table 1": {
        "circles per 100 runs": "_circles",
        "accuracy of circles (%)": "_circle_accuracy",
        "accuracy of non-circles (%)": "_non_circle_accuracy",
        "imperfections": "_imperfections",
        "correlation": "_correlation",
    },
    "Table 2": {"circles per 100 simulations": "_circles", "imperfections": "_imperfections"},
}


def _panel(axes: Axes, claims: pd.DataFrame) -> None:
    """One column of a table: a row per parameter value, ours above the paper's."""
    positions = np.arange(len(claims))[::-1]
    for y, claim in zip(positions, claims.itertuples(), strict=True):
        if pd.isna(claim.published):
            axes.text(
                0.5,
                y,
                "no circles",
                color=style.GREY,
                fontsize=7.5,
                ha="center",
                va="center",
                transform=axes.get_yaxis_transform(),
            )
            continue
        colour = style.ORANGE if claim.verdict == "deviates" else style.BLUE
        axes.plot([claim.low, claim.high], [y + 0.14] * 2, color=colour, linewidth=2)
        axes.plot(claim.measured, y + 0.14, "o", color=colour, markersize=4)
        axes.plot(claim.published, y - 0.14, "D", color="black", markersize=4, fillstyle="none")
    at = claims["statement"].str.extract(r"at (.*)$")[0]
    axes.set(yticks=positions, yticklabels=at, ylim=(-0.6, len(claims) - 0.4))
    axes.grid(axis="x", color="0.92")


def draw(study: Study) -> Figure:
    """A panel per column of the tables."""
    scorecard = io.read_table(study, "scorecard")
    figure = Figure(figsize=(11, 4.6))
    rows = figure.subfigures(len(PANELS), 1, height_ratios=(4.6, 4.0))
    for part, (source, columns) in zip(rows, PANELS.items(), strict=True):
        of_table = scorecard[scorecard["source"] == source]
        grid = part.subplots(1, 5)
        for empty in grid[len(columns) :]:
            empty.axis("off")
        for axes, (title, end) in zip(grid, columns.items(), strict=False):
            name = of_table["claim"].str.replace(r"^musat_table\d_[a-z]+[\d.]+", "", regex=True)
            _panel(axes, of_table[name == end])
            axes.set_title(title, fontsize=8.5)
            if axes is not grid[0]:
                axes.set_yticklabels([])
        part.suptitle(f"{source}", fontsize=10, x=0.01, ha="left")
    line = {"linewidth": 2, "marker": "o", "markersize": 4}
    grid[-1].legend(
        handles=[
            Line2D([], [], color=style.BLUE, label="here, 95 % interval", **line),
            Line2D([], [], color=style.ORANGE, label="here, deviates", **line),
            Line2D(
                [],
                [],
                color="black",
                marker="D",
                fillstyle="none",
                linewidth=0,
                markersize=4,
                label="published",
            ),
        ],
        loc="center",
    )
    return figure
