"""Share of runs in which a representation survives, against the fewest cosets of a subgroup that
have a function in it: one dot per nontrivial representation of each group, with its 95 % interval
(Wilson), coloured by its dimension. Filled: faithful; hollow: not. Dots are moved apart a little to
the sides.
"""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet.collections.groups import group_panels
from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

SYSTEMS = ("groups.mlp",)
TABLES = ("groups.survival",)


def draw(study: Study) -> Figure:
    """One panel with all representations of all groups."""
    rows = parquet.read_table(study, "groups.survival").dropna(subset=["cosets", "survived"])
    rows = rows[(rows["part"] == "left") & (rows["representation"] != "1a")]
    panels.require(len(rows))
    colours = group_panels.colours(rows["dimension"])
    figure = Figure(figsize=(6.4, 3.4))
    axes = figure.subplots()
    counts = sorted(rows["cosets"].astype(int).unique())
    for place, count in enumerate(counts):
        own = rows[rows["cosets"] == count].sort_values(["dimension", "survived"])
        width = min(0.8, 0.05 * len(own))
        offsets = np.linspace(-width / 2, width / 2, len(own)) if len(own) > 1 else [0]
        for offset, row in zip(offsets, own.itertuples(), strict=True):
            colour = colours[row.dimension]
            reach = [[row.survived - row.survived_low], [row.survived_high - row.survived]]
            axes.errorbar(
                place + offset, row.survived, reach, color=colour, marker="o", markersize=4.5,
                elinewidth=0.9, markerfacecolor=colour if row.kernel == 1 else "white",
                clip_on=False,
            )  # fmt: skip
    axes.set_xticks(range(len(counts)), counts)
    axes.set(xlabel="fewest cosets", ylabel="share of runs in which it survives", ylim=(0, 1))
    axes.grid(axis="y", color="0.92", linewidth=0.6)
    axes.set_axisbelow(True)
    dots = [
        Line2D([], [], color=colour, marker="o", linestyle="", label=f"dimension {d}")
        for d, colour in colours.items()
    ]
    figure.legend(handles=dots, loc="outside right upper", fontsize=8)
    return figure
