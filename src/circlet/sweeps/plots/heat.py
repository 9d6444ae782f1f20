"""Each cell is a setting. Colour and first number: the share of its runs, their mean or, for steps,
their median. Second number: the half-width of its 95 % interval (of the longer side). If fewer than
half of the runs reached the milestone, the median is only known to be larger than the number shown;
a dash means that there are too few runs. Dashed lines show where an outcome crosses its threshold.
If there are many cells, a second map shows the half-widths.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from circlet.plotting.panels import nothing
from circlet.study.plan import Study
from circlet.study.swept import words
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep
from circlet.systems.spec import Outcome

TABLES = ("outcome_summary",)
CONFIG = ("milestones", "derived_metrics")
PLACES = ("x", "y", "facet")
LEAST = 1

_MOST_TEXTS = 14  # cells of a row that have numbers in them
_CELL, _SMALL = (0.62, 0.46), (0.24, 0.2)  # size of a cell with and without numbers, in inches


def _borders(cells: np.ndarray, threshold: float) -> list[list[tuple[float, float]]]:
    """Lines between cells (y, x) above a threshold and cells that are not; NaN is neither."""
    side = np.where(np.isnan(cells), np.nan, np.where(cells >= threshold, 1.0, -1.0))
    across = np.argwhere(side[:, 1:] * side[:, :-1] < 0)
    along = np.argwhere(side[1:] * side[:-1] < 0)
    return [
        *([(j + 0.5, i - 0.5), (j + 0.5, i + 0.5)] for i, j in across),
        *([(j - 0.5, i + 0.5), (j + 0.5, i + 0.5)] for i, j in along),
    ]


def _text(row: pd.Series, decimals: int, show_n: bool) -> str:
    """What stands in a cell: estimate, half-width, and n if cells differ in it."""
    center, low, half = (panels.number(row[k], decimals) for k in ("estimate", "low", "width"))
    if np.isnan(row["estimate"]):
        lines = [f"> {low}" if row["low"] > 0 else "–"]
    else:
        lines = [center, f"±{half}" if np.isfinite(row["high"]) else f"> {low}"]
    return "\n".join([*lines, *([f"n {row['n_runs']}"] if show_n else [])])


def _write(axes: Axes, rows: pd.DataFrame, norm: Normalize, decimals: int, show_n: bool) -> None:
    """Numbers into cells, dark on light and light on dark."""
    for row in rows.to_dict("records"):
        is_light = np.isnan(row["estimate"]) or norm(row["estimate"]) > 0.6
        axes.text(
            row["_x"], row["_y"], _text(row, decimals, show_n), fontsize=7, linespacing=1.1,
            color="black" if is_light else "white", ha="center", va="center",
        )  # fmt: skip


def _ticks(axes: Axes, sweep: Sweep, first: bool) -> None:
    """Values of both parameters; those along y beside the first panel of a row alone."""
    for axis, parameter in ((axes.xaxis, sweep.at("x")), (axes.yaxis, sweep.at("y"))):
        shown = parameter is not None and (axis is axes.xaxis or first)
        texts = parameter.texts if parameter and shown else ()
        axis.set_ticks(range(len(texts)), texts)
        axis.set_label_text(words(parameter.name) if parameter and shown else "")
    if (x := sweep.at("x")) and max(map(len, x.texts)) > 4:
        axes.tick_params("x", rotation=45)
    axes.set_facecolor("0.85")
    axes.spines[:].set_visible(False)


def _band(
    figure: Figure, grid: np.ndarray, sweep: Sweep, outcome: Outcome, rows: pd.DataFrame,
    column: str, dense: bool,
) -> None:  # fmt: skip
    """The maps of an outcome, or of the half-widths of its intervals: a panel per facet."""
    x, y = sweep.at("x"), sweep.at("y")
    placed = rows.assign(_x=rows[x.name] if x else 0, _y=rows[y.name] if y else 0)
    size = {"index": range(len(y.values) if y else 1), "columns": range(len(x.values) if x else 1)}
    values = placed[column].to_numpy(float)
    is_width = column == "width"
    norm = Normalize(0, np.nanmax([*values, 1e-9])) if is_width else panels.shades(outcome, values)
    few, many = placed["n_runs"].min(), placed["n_runs"].max()
    n = f"n = {many}" if few == many else f"n = {few} to {many}"
    heading = f"half-width of {outcome.label}" if is_width else f"{outcome.label}, {n}"
    threshold = outcome.threshold
    if threshold is None and outcome.kind == "share":
        threshold = 0.5
    for i, j, title, own in sweep.panels(placed):
        axes = grid[i][j]
        cells = own.pivot(index="_y", columns="_x", values=column).reindex(**size).to_numpy(float)
        axes.imshow(cells, norm=norm, cmap="viridis", origin="lower", aspect="auto")
        _ticks(axes, sweep, first=j == 0)
        axes.set_title("\n".join(filter(None, [heading if j == 0 else "", title])), loc="left")
        if not dense:
            _write(axes, own, norm, panels.decimals(outcome, rows["estimate"]), few != many)
        if threshold is not None and not is_width:
            lines = _borders(cells, threshold)
            axes.add_collection(LineCollection(lines, colors="white", lw=2.2))
            axes.add_collection(LineCollection(lines, colors="black", lw=0.8, ls="--"))
    if np.isfinite(values).any():
        bar = ScalarMappable(norm, "viridis")
        figure.colorbar(bar, ax=grid.ravel().tolist(), shrink=0.9, pad=0.01)


def draw(study: Study) -> Figure:
    """A row of maps for each outcome, or two; a column for each value of the first facet."""
    sweep = Sweep(study)
    rows = sweep.rows("outcome_summary")
    if not rows["n_runs"].any():
        return nothing("no finished run to draw")
    rows["width"] = np.fmax(rows["high"] - rows["estimate"], rows["estimate"] - rows["low"])
    nx, ny = (len(p.values) if p else 1 for p in (sweep.at("x"), sweep.at("y")))
    columns, lines = ([len(facet.values) for facet in sweep.facets] + [1, 1])[:2]
    dense = nx * columns > _MOST_TEXTS
    cell = _SMALL if dense else _CELL
    maps = [(n, c) for n in sweep.plot.show for c in ("estimate", "width")[: 1 + dense]]
    width, height = max(cell[0] * nx, 1.2) + 0.55, max(cell[1] * ny, 1.0) + 0.85
    figure = Figure(figsize=(columns * width + 1.3, len(maps) * lines * height))
    grid = figure.subplots(len(maps) * lines, columns, squeeze=False)
    for k, (name, column) in enumerate(maps):
        own = rows[rows["outcome"] == name]
        part = grid[k * lines : (k + 1) * lines]
        _band(figure, part, sweep, sweep.outcomes[name], own, column, dense)
    return figure
