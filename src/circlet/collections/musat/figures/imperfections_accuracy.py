"""Validation accuracy against grid imperfections, one dot per run: what table 1 of Mușat averages.
Circles generalise although most of their pair sums count as imperfect. Among the others, more
imperfections go with lower accuracy. The correlation is that of the non-circles, with Fisher's 95 %
interval.
"""

import seaborn as sns
from matplotlib.figure import Figure

from circlet.formatting import interval, number
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("table1",)
TABLES = ("structures", "table1")


def draw(study: Study) -> Figure:
    """A panel per weight decay (twelve at most): a dot per run; the non-circles' correlation."""
    structures = parquet.read_table(study, "structures", "table1")
    rows = parquet.read_table(study, "table1").query("sample == 'all'")
    rows = rows[rows["weight_decay"].isin(panels.some(rows["weight_decay"]))]
    width = 2.5 * len(rows) + 0.4
    figure, grid = panels.row(len(rows), width, 3.1, sharex=True, sharey=True)
    for axes, row in zip(grid, rows.itertuples(), strict=True):
        runs = structures[structures["weight_decay"] == row.weight_decay]
        if runs.empty:
            panels.missing(axes, f"weight decay {row.weight_decay:g}:\nno finished run")
            continue
        shown = runs.assign(
            accuracy=100 * runs["test_accuracy"],
            structure=runs["is_circle"].map({True: "circle", False: "non-circle"}),
        )
        sns.scatterplot(
            data=shown, x="imperfections", y="accuracy", hue="structure", style="structure",
            hue_order=["non-circle", "circle"], style_order=["non-circle", "circle"],
            palette=[style.BLUE, style.ORANGE], s=14, alpha=0.6, linewidth=0, ax=axes,
            legend=axes is grid[0], rasterized=True,
        )  # fmt: skip
        r = "no correlation" if row.correlation != row.correlation else (
            f"r = {number(row.correlation)} {interval(row.correlation_low, row.correlation_high)}"
        )  # fmt: skip
        counts = f"{row.correlation_n} non-circles of {row.n_runs} runs"
        axes.set_title(f"weight decay {row.weight_decay:g}\n{r}\n{counts}")
        axes.set(xlabel="imperfections", ylabel="validation accuracy (%)", ylim=(-4, 104))
    if legend := grid[0].get_legend():
        legend.set_title(None)
    return figure
