"""Share of runs in which each irreducible representation survives, with 95 % intervals (Wilson). It
survives if its signal per dimension in the left embedding is more than a third of that of the
strongest. Names are the dimension and a letter. Filled: faithful, it tells all elements apart;
hollow: it does not; grey: the trivial representation, which is the mean of the embedding.
"""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet.collections.groups import group_panels
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

SYSTEMS = ("groups.mlp",)
TABLES = ("groups.survival",)


def draw(study: Study) -> Figure:
    """A panel per group, a dot with its interval per representation."""
    rows = parquet.read_table(study, "groups.survival")
    rows = rows[(rows["part"] == "left") & (rows["n_runs"] > 0)]
    panels.require(len(rows))
    titles, colours = group_panels.titles(rows), group_panels.colours(rows["dimension"])
    figure, axes = panels.tiles(len(titles), group_panels.COLUMNS, 3.1, 2.4)
    for panel, (key, title) in zip(axes, titles.items(), strict=True):
        own = rows[(rows["experiment"] == key[0]) & (rows["point"] == key[1])]
        for x, row in enumerate(own.itertuples()):
            colour = style.GREY if row.representation == "1a" else colours[row.dimension]
            reach = [[row.survived - row.survived_low], [row.survived_high - row.survived]]
            panel.errorbar(
                x, row.survived, reach, color=colour, marker="o", markersize=5, elinewidth=1.2,
                markerfacecolor=colour if row.kernel == 1 else "white", clip_on=False,
            )  # fmt: skip
        panel.set_xticks(range(len(own)), own["representation"], fontsize=7)
        panel.set(ylim=(0, 1), xlim=(-0.6, len(own) - 0.4))
        panel.set_title(f"{title}, {own['n_runs'].min()} runs", fontsize=9)
        panel.grid(axis="y", color="0.92", linewidth=0.6)
        panel.set_axisbelow(True)
    for panel in axes[:: group_panels.COLUMNS]:
        panel.set_ylabel("share of runs")
    dots = [
        Line2D([], [], color=colour, marker="o", linestyle="", label=f"dimension {d}")
        for d, colour in colours.items()
    ]
    group_panels.legend(figure, dots)
    return figure
