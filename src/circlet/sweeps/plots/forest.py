"""Each row is a setting: the difference of an outcome between the second value and the first, as
the mean over runs with the same seed (for steps, the median), with its 95 % interval; an arrow
marks an end that is not known. Intervals that exclude zero are dark.
"""

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from circlet.plotting import style
from circlet.plotting.panels import require
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
    require(rows["n_first"].any(), "no finished runs to compare")
    return forest(rows, [*sweep.plot.show])


def forest(rows: pd.DataFrame, shown: list[str]) -> Figure:
    """Draw differences of outcomes with their intervals: rows as in the table ``comparisons``.

    An arrow marks an unknown end.
    """
    rows = rows[rows["outcome"].isin(shown)]
    names = [
        ": ".join(filter(None, [f"{words(r.parameter)} {r.first} to {r.second}", words(r.at)]))
        for r in rows.itertuples()
    ]
    is_clear = (rows["low"] > 0) | (rows["high"] < 0)
    colours = is_clear.map({True: style.BLUE, False: style.GREY})
    figure, grid = panels.listed(rows.assign(name=names, colour=colours), shown)
    for axes, outcome in zip(grid, shown, strict=True):
        axes.axvline(0, color="0.8", lw=0.8, zorder=0)
        axes.xaxis.set_major_locator(MaxNLocator(3))
        if rows.loc[rows["outcome"] == outcome, "low"].isna().all():
            axes.text(
                0.5, 0.5, "not known", transform=axes.transAxes, ha="center", color=style.GREY
            )
            axes.set_xticks([0])
        axes.set_xlabel("difference")
    look = {"marker": "o", "ms": 4, "lw": 1.4}
    marks: dict[str, Artist] = {
        "95 % interval excludes zero": Line2D([], [], color=style.BLUE, **look),
        "95 % interval contains zero": Line2D([], [], color=style.GREY, **look),
    }
    if (rows["low"].isna() != rows["high"].isna()).any():
        marks["end unknown"] = Line2D([], [], ls="none", marker=">", color=style.GREY, ms=4)
    panels.explain(figure, marks)
    return figure
