"""Frequency of sums (a + b = c), doubles and further ratios among survivors, relative to random
sets of the same sizes, with 95 % intervals over runs. Filled: different from random sets after
Holm's correction.
"""

from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("survey",)
TABLES = ("relations",)

_MAX_POINTS = 4


def draw(study: Study) -> Figure:
    """Draw a panel for each of the points with the most expected relations, a row per relation."""
    relations = parquet.read_table(study, "relations", "survey")
    relations = relations[relations["size"].isna()]
    panels.require(len(relations), "no finished run")
    by_point = relations.groupby("point", sort=False)
    expected = by_point["expected"].sum()
    points = expected.sort_values(ascending=False, kind="stable").index[:_MAX_POINTS]
    figure, grid = panels.row(len(points), 3.2 * len(points), 3.8)
    for axes, point in zip(grid, points, strict=True):
        rows = relations[relations["point"] == point]
        for y, row in enumerate(rows.iloc[::-1].itertuples()):
            face = style.BLUE if row.p_adjusted < 0.05 else "white"
            axes.plot([max(row.excess_low, 0), row.excess_high], [y, y], color=style.BLUE, lw=1)
            axes.plot(row.excess, y, "o", color=style.BLUE, markerfacecolor=face, ms=4)
        axes.axvline(1, color=style.GREY, lw=0.8, ls=":")
        axes.set_yticks(range(len(rows)), rows["relation"].iloc[::-1], fontsize=7)
        axes.set(xlabel="observed / expected in random sets", xlim=(-0.05, None))
        first = rows.iloc[0]
        setting = f"p = {first.p}, d = {first.d}, weight decay {first.weight_decay:g}"
        axes.set_title(f"{setting}: {first.n_runs} runs")
    return figure
