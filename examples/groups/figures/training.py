"""Signals of all representations over the training of one run per group, the one with the lowest
seed. A signal is drawn per dimension of its representation, so that all start alike. In colour, by
dimension: those that survive; grey: those that die; dotted: the trivial one. The vertical line is
the first logged step with a test accuracy above 99 %.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet.collections.groups import group_panels, representations, survivors
from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

SYSTEMS = ("groups.mlp",)
TABLES = ("groups.signals", "groups.outcomes")


def draw(study: Study) -> Figure:
    """A panel per group, a line per representation."""
    signals = parquet.read_table(study, "groups.signals")
    fit_steps = parquet.read_table(study, "groups.outcomes").set_index("run_id")["fit_step"]
    signals = signals[signals["part"] == "left"]
    panels.require(len(signals))
    signals["point"] = signals["run_id"].str.split("/").str[1]
    signals["dimension"] = signals["representation"].str.extract(r"(\d+)", expand=False).astype(int)
    titles, colours = group_panels.titles(signals), group_panels.colours(signals["dimension"])
    figure, axes = panels.tiles(len(titles), group_panels.COLUMNS, 3.1, 2.4)
    for panel, (key, title) in zip(axes, titles.items(), strict=True):
        own = signals[(signals["experiment"] == key[0]) & (signals["point"] == key[1])]
        run_id = own["run_id"].min()
        own = own[own["run_id"] == run_id]
        panel.axvline(fit_steps[run_id], color="0.75", linewidth=0.8)
        shown = dict(list(own.groupby("representation")))
        placed = []
        for name in representations.of(own["group"].iloc[0]).names:
            line = shown[name]
            height = line["signal"] / line["dimension"]
            alive = survivors.survives(line["relative"].iloc[-1]) and name != "1a"
            colour = colours[line["dimension"].iloc[0]] if alive else "0.7"
            panel.plot(
                line["step"], height, color=colour, linewidth=1.4 if alive else 0.8,
                linestyle=":" if name == "1a" else "-", zorder=2 + alive,
            )  # fmt: skip
            if alive:
                placed.append((height.iloc[-1], name, colour))
        panel.set(xlim=(0, own["step"].max()), ylim=(0, None))
        _label(panel, placed)
        panel.set_title(f"{title}, seed {int(run_id.rsplit('/s', 1)[1])}", fontsize=9)
    for panel in axes[:: group_panels.COLUMNS]:
        panel.set_ylabel("signal per dimension")
    for panel in axes[-group_panels.COLUMNS :]:
        panel.set_xlabel("step")
    lines = [Line2D([], [], color=c, label=f"dimension {d}") for d, c in colours.items()]
    lines.append(Line2D([], [], color="0.7", linewidth=0.8, label="dies"))
    lines.append(Line2D([], [], color="0.7", linewidth=0.8, linestyle=":", label="trivial"))
    group_panels.legend(figure, lines)
    return figure


def _label(panel: Axes, placed: list[tuple[float, str, tuple]]) -> None:
    """Names at the ends of the lines, moved apart where they would lie on one another."""
    top = panel.get_ylim()[1]
    placed = sorted(placed)
    heights = np.array([height / top for height, *_ in placed])
    for _ in range(200):
        overlap = np.maximum(0.08 - np.diff(heights), 0)
        heights[1:] += overlap / 2
        heights[:-1] -= overlap / 2
    for height, (_, name, colour) in zip(heights, placed, strict=True):
        panel.annotate(
            name, (1, height), (3, 0), xycoords="axes fraction", textcoords="offset points",
            color=colour, fontsize=7, va="center",
        )  # fmt: skip
