"""Each cell is a setting. Colour and first number: the share of its runs, their mean or, for steps,
their median. Brackets: its 95 % interval. If fewer than half of the runs reached the milestone, the
median is only known to be larger than the number shown; a dash means that there are too few runs.
Dashed lines show where an outcome crosses its threshold. If there are many cells, further maps show
the ends of the intervals.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from circlet.study.plan import Study
from circlet.study.swept import words
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep
from circlet.systems.spec import Outcome

TABLES = ("outcome_summary",)
CONFIG = ("milestones", "derived_metrics")
PLACES = ("x", "y", "facet")
LEAST = 1

_MAX_TEXTS = 16  # most cells of a row for which numbers are written
_CELL, _SMALL = (0.66, 0.46), (0.24, 0.2)  # size of a cell with and without numbers, in inches
_ENDS = {"low": "lower end", "high": "upper end"}
_UNKNOWN = "0.85"  # colour of a cell without a value


def _draw_borders(axes: Axes, cells: np.ndarray, threshold: float) -> bool:
    """Draw dashed lines between cells (y, x) above a threshold and below; return if there are any.

    NaN is neither.
    """
    side = np.where(np.isnan(cells), np.nan, np.where(cells >= threshold, 1.0, -1.0))
    across = np.argwhere(side[:, 1:] * side[:, :-1] < 0)
    along = np.argwhere(side[1:] * side[:-1] < 0)
    lines = [
        *([(j + 0.5, i - 0.5), (j + 0.5, i + 0.5)] for i, j in across),
        *([(j - 0.5, i + 0.5), (j + 0.5, i + 0.5)] for i, j in along),
    ]
    axes.add_collection(LineCollection(lines, colors="white", lw=2.2))
    axes.add_collection(LineCollection(lines, colors="black", lw=0.8, ls="--"))
    return bool(lines)


def _text(row: dict[str, Any], decimals: int, show_n: bool) -> str:
    center, low, high = (f"{row[k]:.{decimals}f}" for k in ("estimate", "low", "high"))
    lines = [center]
    if np.isnan(row["estimate"]):
        lines = [f"> {low}" if row["low"] > 0 else "–"]
    elif np.isfinite(row["high"]):
        lines.append(f"[{low}, {high}]")
    elif row["low"] > 0:
        lines.append(f"≥ {low}")
    return "\n".join([*lines, *([f"n {row['n_runs']}"] if show_n else [])])


def _write(axes: Axes, rows: pd.DataFrame, norm: Normalize, decimals: int, show_n: bool) -> None:
    for row in rows.to_dict("records"):
        is_light = np.isnan(row["estimate"]) or norm(row["estimate"]) > 0.6
        axes.text(
            row["_x"], row["_y"], _text(row, decimals, show_n), fontsize=6.5, linespacing=1.1,
            color="black" if is_light else "white", ha="center", va="center",
        )  # fmt: skip


def _ticks(axes: Axes, sweep: Sweep, first: bool) -> None:
    """Label the values of both parameters; those along y only in the first panel of a row."""
    for axis, parameter in ((axes.xaxis, sweep.at("x")), (axes.yaxis, sweep.at("y"))):
        shown = parameter is not None and (axis is axes.xaxis or first)
        texts = parameter.texts if parameter and shown else ()
        axis.set_ticks(range(len(texts)), texts)
        axis.set_label_text(words(parameter.name) if parameter and shown else "")
    if (x := sweep.at("x")) and max(map(len, x.texts)) > 4:
        axes.tick_params("x", rotation=45)
    axes.set_facecolor(_UNKNOWN)
    axes.spines[:].set_visible(False)


def _heading(outcome: Outcome, rows: pd.DataFrame, column: str) -> str:
    if column in _ENDS:
        return f"{outcome.label}, {_ENDS[column]} of 95 % interval"
    counts = sorted({rows["n_runs"].min(), rows["n_runs"].max()})
    return f"{outcome.label}, n = {' to '.join(map(str, counts))}"


def _band(
    figure: Figure, grid: np.ndarray, sweep: Sweep, outcome: Outcome, rows: pd.DataFrame,
    column: str, dense: bool,
) -> dict[str, Artist]:  # fmt: skip
    """Draw the maps of an outcome, a panel per facet; returns the marks in them."""
    x, y = sweep.at("x"), sweep.at("y")
    placed = rows.assign(_x=rows[x.name] if x else 0, _y=rows[y.name] if y else 0)
    size = {"index": range(len(y.values) if y else 1), "columns": range(len(x.values) if x else 1)}
    has_ends = dense and outcome.kind != "time"  # ends of times may be 0 on a log scale
    drawn = placed[["estimate", *_ENDS] if has_ends else "estimate"]
    norm, threshold = panels.shades(outcome, drawn.to_numpy(float)), outcome.threshold
    if threshold is None and outcome.kind == "share":
        threshold = 0.5
    heading = panels.wrapped(_heading(outcome, placed, column), figure.get_figwidth() - 1)
    width = figure.get_figwidth() / grid.shape[1] - 0.5
    marks: dict[str, Artist] = {}
    for i, j, title, panel_rows in sweep.panels(placed):
        axes = grid[i][j]
        cells = (
            panel_rows.pivot(index="_y", columns="_x", values=column)
            .reindex(**size)
            .to_numpy(float)
        )
        shown = np.maximum(cells, norm.vmin)
        axes.imshow(shown, norm=norm, cmap="viridis", origin="lower", aspect="auto")
        _ticks(axes, sweep, first=j == 0)
        lines = [heading] * (j == 0) + [panels.wrapped(title, width)]
        axes.set_title("\n".join(filter(None, lines)), loc="left")
        if not dense:
            decimals = panels.decimals(outcome, rows["estimate"])
            _write(axes, panel_rows, norm, decimals, placed["n_runs"].nunique() > 1)
        if threshold is not None and column == "estimate" and _draw_borders(axes, cells, threshold):
            marks["outcome crosses its threshold"] = Line2D([], [], color="black", lw=0.8, ls="--")
        if dense and np.isnan(cells).any():
            marks["unknown"] = Patch(color=_UNKNOWN)
    if np.isfinite(placed[column].to_numpy(float)).any():
        bar = ScalarMappable(norm, "viridis")
        figure.colorbar(bar, ax=grid.ravel().tolist(), shrink=0.9, pad=0.01)
    return marks


def draw(study: Study) -> Figure:
    """Draw one or three rows of maps per outcome, a column for each value of the first facet."""
    sweep = Sweep(study)
    rows = sweep.drawn("outcome_summary")
    nx, ny = (len(p.values) if p else 1 for p in (sweep.at("x"), sweep.at("y")))
    columns, lines = ([len(facet.values) for facet in sweep.facets] + [1, 1])[:2]
    dense = nx * columns > _MAX_TEXTS
    cell = _SMALL if dense else _CELL
    shown = ("estimate", *_ENDS) if dense else ("estimate",)
    maps = [(outcome, column) for outcome in sweep.shown for column in shown]
    width, height = max(cell[0] * nx, 1.2) + 0.55, max(cell[1] * ny, 1.0) + 0.85
    figure = Figure(figsize=(columns * width + 1.3, len(maps) * lines * height))
    grid = figure.subplots(len(maps) * lines, columns, squeeze=False)
    marks = {} if dense else {"Brackets: 95 % interval": Line2D([], [], ls="none")}
    for k, (outcome, column) in enumerate(maps):
        of_outcome = rows[rows["outcome"] == outcome.name]
        part = grid[k * lines : (k + 1) * lines]
        marks |= _band(figure, part, sweep, outcome, of_outcome, column, dense)
    if marks:
        panels.explain(figure, marks)
    return figure
