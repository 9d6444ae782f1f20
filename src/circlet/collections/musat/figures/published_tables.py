"""Tables 1 and 2 of Mușat compared with ours, column by column. Bars are our 95 % intervals; the
grey bands are the margins around the published values. The verdict also includes the sampling error
of the published value, which comes from 100 runs.
"""

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from circlet.analysis import claims
from circlet.plotting import style
from circlet.storage import parquet
from circlet.study.plan import Study

OPTIONAL_ROLES = ("table1", "table2")
TABLES = ("scorecard",)
USES = ("claims",)

_COLOURS = {  # grey: not decided
    "reproduced": style.BLUE,
    "compatible": style.LIGHT_BLUE,
    "differs": style.YELLOW,
    "deviates": style.ORANGE,
}

_ROWS = {"table1": ("weight_decay", "weight decay"), "table2": ("f_a", "$f_a$")}
_COLUMNS = {
    "circles": "circles per 100",
    "circle_accuracy": "accuracy of circles (%)",
    "non_circle_accuracy": "accuracy of non-circles (%)",
    "imperfections": "imperfections",
    "correlation": "correlation",
}


def _panel(axes: Axes, cells: pd.DataFrame, rows: dict[float, int]) -> None:
    """One column of a table, ours above the paper's; ``rows``: height of each row."""
    for claim in cells.itertuples():
        y = rows[claim.value]
        colour = _COLOURS.get(claim.verdict, style.GREY)
        ends = [claim.measured_low, claim.measured_high]
        axes.fill_betweenx([y - 0.3, y + 0.3], claim.same_low, claim.same_high, color="0.93")
        axes.plot(ends, [y + 0.14] * 2, color=colour, linewidth=2)
        axes.plot(claim.measured, y + 0.14, "o", color=colour, markersize=4)
        axes.plot(claim.published, y - 0.14, "D", color="black", markersize=4, fillstyle="none")
    axes.grid(axis="x", color="0.92")


def draw(study: Study) -> Figure:
    """A panel per column of the tables."""
    keys = claims.read(study)[["claim", "keys"]]
    scorecard = parquet.read_table(study, "scorecard").merge(keys, on="claim")
    figure = Figure(figsize=(11, 4.6))
    parts = figure.subfigures(2, 1, height_ratios=(4.6, 4.0))
    for part, (table, (swept, parameter)) in zip(parts, _ROWS.items(), strict=True):
        cells = scorecard[(scorecard["table"] == table) & scorecard["published"].notna()]
        cells = cells.assign(value=[row[swept] for row in cells["keys"]])
        rows = {value: -i for i, value in enumerate(cells["value"].unique())}
        columns = [column for column in _COLUMNS if (cells["column"] == column).any()]
        grid = part.subplots(1, 5, sharey=True)
        grid[0].set(
            yticks=list(rows.values()), yticklabels=[f"{parameter} {value}" for value in rows]
        )
        for empty in grid[len(columns) :]:
            empty.axis("off")
        for axes, column in zip(grid, columns, strict=False):
            _panel(axes, cells[cells["column"] == column], rows)
            axes.set_title(_COLUMNS[column])
        part.suptitle(table.replace("table", "Table "), fontsize=10, x=0.01, ha="left")
    look = {"linewidth": 2, "marker": "o", "markersize": 4}
    colours = _COLOURS | {"too few runs to tell": style.GREY}
    marks: dict[str, Artist] = {
        f"here, {text}": Line2D([], [], color=colour, **look) for text, colour in colours.items()
    }
    look |= {"linewidth": 0, "marker": "D", "fillstyle": "none"}
    marks["published"] = Line2D([], [], color="black", **look)
    marks["within the margin"] = Patch(color="0.93")
    grid[-1].legend(marks.values(), marks.keys(), loc="center")
    return figure
