"""Tables 1 and 2 of Mușat beside ours: published against measured.

The columns that only complete the circles to 100 are left out.
"""

import re

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet import io
from circlet.figures import style
from circlet.plan import Study

OPTIONAL_ROLES = ("table1", "table2")
TABLES = ("scorecard",)

COLOURS = {"reproduced": style.BLUE, "deviates": style.ORANGE, "not_run": style.GREY}

# For each table: the parameter of its rows, and the title and column of each panel.
PANELS = {
    "table1": (
        "Table 1",
        "weight decay",
        {
            "circles": "circles per 100 runs",
            "circle_accuracy": "accuracy of circles (%)",
            "non_circle_accuracy": "accuracy of non-circles (%)",
            "imperfections": "imperfections",
            "correlation": "correlation",
        },
    ),
    "table2": (
        "Table 2",
        "$f_a$",
        {"circles": "circles per 100 simulations", "imperfections": "imperfections"},
    ),
}


def _panel(axes: Axes, claims: pd.DataFrame, rows: dict[str, int]) -> None:
    """One column of a table, ours above the paper's; ``rows``: height of each row."""
    for claim in claims.itertuples():
        y = rows[claim.where]
        colour = COLOURS[claim.verdict]
        axes.plot([claim.low, claim.high], [y + 0.14] * 2, color=colour, linewidth=2)
        axes.plot(claim.measured, y + 0.14, "o", color=colour, markersize=4)
        axes.plot(claim.published, y - 0.14, "D", color="black", markersize=4, fillstyle="none")
    axes.grid(axis="x", color="0.92")


def draw(study: Study) -> Figure:
    """A panel per column of the tables."""
    scorecard = io.read_table(study, "scorecard")
    figure = Figure(figsize=(11, 4.6))
    parts = figure.subfigures(len(PANELS), 1, height_ratios=(4.6, 4.0))
    for part, (table, (name, parameter, columns)) in zip(parts, PANELS.items(), strict=True):
        claims = scorecard[(scorecard["table"] == table) & scorecard["published"].notna()]
        rows = {where: -i for i, where in enumerate(claims["where"].unique())}
        values = [re.search("=([^;]*)", where)[1] for where in rows]
        grid = part.subplots(1, 5, sharey=True)
        grid[0].set(
            yticks=list(rows.values()), yticklabels=[f"{parameter} {value}" for value in values]
        )
        for empty in grid[len(columns) :]:
            empty.axis("off")
        for axes, (column, title) in zip(grid, columns.items(), strict=False):
            _panel(axes, claims[claims["column"] == column], rows)
            axes.set_title(title, fontsize=8.5)
        part.suptitle(name, fontsize=10, x=0.01, ha="left")
    line = {"linewidth": 2, "marker": "o", "markersize": 4}
    grid[-1].legend(
        handles=[
            Line2D([], [], color=style.BLUE, label="here, 95 % interval", **line),
            Line2D([], [], color=style.ORANGE, label="here, deviates", **line),
            Line2D([], [], color=style.GREY, label="here, too few runs to tell", **line),
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
