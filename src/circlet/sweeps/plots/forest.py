"""Each row is a setting: the difference of an outcome between the second value and the first, as
the mean over runs with the same seed (for steps, the median), with its 95 % interval; an arrow
marks an end that is not known. Intervals that exclude zero are dark.
"""

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from circlet.plotting import style
from circlet.plotting.panels import nothing
from circlet.study.plan import Study
from circlet.study.swept import words
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep

TABLES = ("comparisons",)
CONFIG = ("milestones", "derived_metrics")
PLACES = ()
POOLS = True


def draw(study: Study) -> Figure:
    """Draw a column for each outcome, and a row for each comparison and setting of the others."""
    sweep = Sweep(study)
    rows = sweep.rows("comparisons")
    if rows.empty or not rows["n_first"].any():
        return nothing("no finished runs to compare")
    return forest(rows, [*sweep.plot.show])


def forest(rows: pd.DataFrame, shown: list[str]) -> Figure:
    """Draw differences of outcomes with their intervals: rows as in the table ``comparisons``."""
    names = [
        ": ".join(filter(None, [f"{words(r.parameter)} {r.first} to {r.second}", words(r.at)]))
        for r in rows.itertuples()
    ]
    rows = rows.assign(name=names)
    places = {name: -i for i, name in enumerate(dict.fromkeys(names))}
    figure = Figure(figsize=(2.4 * len(shown) + 3.0, 0.26 * len(places) + 0.9))
    grid = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    for axes, outcome in zip(grid, shown, strict=True):
        of_outcome = rows[rows["outcome"] == outcome]
        y = of_outcome["name"].map(places)
        center, low, high = (
            of_outcome[k].to_numpy(float, copy=True) for k in ("estimate", "low", "high")
        )
        dark = np.where((low > 0) | (high < 0), style.BLUE, style.GREY)
        ends = np.array([0.0, *center, *low, *high])
        beyond = 0.15 * np.ptp(ends[np.isfinite(ends)]) or 1.0
        for end, other, to, mark in (
            (low, high, np.nanmin(ends) - beyond, "<"),
            (high, low, np.nanmax(ends) + beyond, ">"),
        ):
            is_open = np.isnan(end) & ~np.isnan(other)
            axes.scatter(np.full(is_open.sum(), to), y[is_open], c=dark[is_open], s=18, marker=mark)
            end[is_open] = to
        axes.axvline(0, color="0.8", lw=0.8)
        axes.hlines(y, low, high, colors=dark, lw=1.4)
        axes.scatter(center, y, c=dark, s=18, zorder=2)
        axes.xaxis.set_major_locator(MaxNLocator(3))
        if np.isnan(low).all():
            axes.text(
                0.5, 0.5, "not known", transform=axes.transAxes, ha="center", color=style.GREY
            )
            axes.set_xticks([0])
        panels.title(axes, of_outcome["label"].iloc[0] if len(of_outcome) else words(outcome), 2.3)
        axes.set_xlabel("difference")
    grid[0].set_yticks(list(places.values()), list(places), fontsize=7)
    grid[0].set_ylim(0.5 - len(places), 0.5)
    panels.explain(figure, _marks(rows[rows["outcome"].isin(shown)]))
    return figure


def _marks(rows: pd.DataFrame) -> dict[str, Artist]:
    look = {"marker": "o", "ms": 4, "lw": 1.4}
    marks: dict[str, Artist] = {
        "95 % interval excludes zero": Line2D([], [], color=style.BLUE, **look),
        "95 % interval contains zero": Line2D([], [], color=style.GREY, **look),
    }
    if (rows["low"].isna() != rows["high"].isna()).any():
        marks["end unknown"] = Line2D([], [], ls="none", marker=">", color=style.GREY, ms=4)
    return marks
