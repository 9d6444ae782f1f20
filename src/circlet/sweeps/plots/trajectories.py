"""Means over runs against steps, with their 95 % intervals as bands (up to twelve settings in a
panel), which close where all runs agree. Dashed lines are metrics on the train set. Dotted lines
are steps after which an intervention acts.
"""

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from circlet.study.plan import Study
from circlet.study.swept import words
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep
from circlet.systems.spec import SHARE

TABLES = ("curve_summary",)
CONFIG = ("derived_metrics",)
PLACES = ("by", "facet")
SHOWS = "metrics"
POOLS = True
MOST_PANELS = 8

_MAX_BANDS = 12


def _groups(metrics: tuple[str, ...]) -> dict[str, list[tuple[str, str]]]:
    """Return the metrics by panel, with line styles; train and test metrics share a panel."""
    by_panel: dict[str, list[tuple[str, str]]] = {}
    for name in metrics:
        part, _, what = name.partition("_")
        panel = what if part in ("train", "test") else name
        by_panel.setdefault(panel, []).append((name, "--" if part == "train" else "-"))
    return by_panel


def _panel(axes: Axes, sweep: Sweep, rows: pd.DataFrame, metrics: list[tuple[str, str]]) -> None:
    by = sweep.at("by")
    colours = panels.colours(by)
    settings = list(rows.groupby("point"))
    few = len(settings) <= _MAX_BANDS
    for _, of_point in settings:
        k = int(of_point[by.name].iloc[0]) if by else 0
        for name, dashes in metrics:
            line = of_point[of_point["metric"] == name].sort_values("step")
            look = {"color": colours[k], "ls": dashes, "lw": 1.1 if few else 0.6}
            axes.plot(line["step"], line["estimate"], **look)
            if few:
                ends = (line[e].astype(float).fillna(line["estimate"]) for e in ("low", "high"))
                axes.fill_between(line["step"], *ends, color=colours[k], alpha=0.15, linewidth=0)


def _begins(sweep: Sweep, rows: pd.DataFrame) -> set[int]:
    drawn = set(rows["point"].unique())
    steps = ("change_step", "clamp_step")
    keys = [point.keys for point in sweep.points if point.name in drawn]
    return {of_point[step] for of_point in keys for step in steps if step in of_point}


def draw(study: Study) -> Figure:
    """Draw a row of panels per quantity and second facet, and a column for each first facet."""
    sweep = Sweep(study)
    rows, groups = sweep.drawn("curve_summary"), _groups(sweep.plot.show)
    of_facets = list(sweep.panels(rows))
    height = 1 + max(i for i, *_ in of_facets)
    columns = 1 + max(j for _, j, *_ in of_facets)
    n = len(groups) * height
    figure = Figure(figsize=(2.7 * columns + 0.9, (2.2 if height == 1 else 1.7) * n + 0.3))
    grid = figure.subplots(n, columns, squeeze=False, sharex=True)
    last = rows["step"].max()
    for number, (what, metrics) in enumerate(groups.items()):
        name = metrics[0][0] if len(metrics) == 1 else what
        label = sweep.outcomes[name].label if name in sweep.outcomes else words(name)
        of_what = rows[rows["metric"].isin([name for name, _ in metrics])]
        (unit,) = of_what["unit"].unique()[:1] if len(of_what) else [""]
        low, high = of_what["estimate"].min(), of_what["estimate"].max()
        shown = f" ({unit})" if unit not in ("", SHARE) else ""
        for i, j, title, panel_rows in of_facets:
            axes = grid[number * height + i, j]
            _panel(axes, sweep, panel_rows, metrics)
            for step in _begins(sweep, panel_rows):
                axes.axvline(step, color="0.4", ls=":", lw=0.9)
            axes.set_xscale("symlog", linthresh=1, subs=range(2, 10))
            axes.set_xlim(0, last)
            panels.title(axes, title if number == 0 or height > 1 else "", 2.5)
            if unit == SHARE:
                axes.set_ylim(-0.03, 1.03)
            elif low > 0 and high > 30 * low:
                axes.set_yscale("log")
                axes.set_ylim(low / 2, 2 * high)
            elif columns > 1:
                axes.sharey(grid[number * height, 0])
            axes.tick_params(labelleft=j == 0)
            axes.set_ylabel(panels.wrapped(label + shown, panels.WIDTH) if j == 0 else "")
    for axes in grid[-1]:
        axes.set_xlabel("step")
    by = sweep.at("by")
    if by and len(by.values) <= panels.MAX_LABELS:
        handles = [Line2D([], [], color=colour) for colour in panels.colours(by)]
        grid[0, -1].legend(handles, by.texts, title=words(by.name), bbox_to_anchor=(1, 1),
                           loc="upper left")  # fmt: skip
    elif by:
        bar = ScalarMappable(panels.norm(by), panels.COLOURS)
        figure.colorbar(bar, ax=grid.ravel().tolist(), label=words(by.name), pad=0.01)
    ticks = [0, *(10**k for k in range(int(np.log10(max(last, 1))) + 1))]
    grid[0, 0].set_xticks(ticks)
    marks = _marks(groups, rows["point"].nunique() <= _MAX_BANDS)
    if _begins(sweep, rows):
        marks["an intervention begins"] = Line2D([], [], color="0.4", ls=":", lw=0.9)
    panels.explain(figure, marks)
    return figure


def _marks(groups: dict[str, list[tuple[str, str]]], few: bool) -> dict[str, Artist]:
    shown = [metric for metrics in groups.values() for metric in metrics]
    names = {"--": "train"} if any(dashes == "--" for _, dashes in shown) else {}
    if solid := [name for name, dashes in shown if dashes == "-"]:
        is_test = all(name.startswith("test_") for name in solid)
        names["-"] = "test" if is_test else "test or other metric" if names else "mean"
    marks: dict[str, Artist] = {
        name: Line2D([], [], color="0.4", ls=dashes, lw=1.1) for dashes, name in names.items()
    }
    return marks | ({"95 % interval": Patch(color="0.4", alpha=0.15, lw=0)} if few else {})
