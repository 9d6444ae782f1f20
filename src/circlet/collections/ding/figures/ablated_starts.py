"""Ding et al., figure 12. Test loss of networks that start with only the strongest final circles of
another run (left), or with random circles (right), compared with that run. The legend gives the
number of circles at the end.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("trajectory",)
OPTIONAL_ROLES = ("ablated_starts", "random_starts")
TABLES = ("losses", "circle_counts")


def _line(axes: Axes, losses: pd.DataFrame, counts: pd.DataFrame, colour: str, label: str) -> None:
    if losses.empty:
        return
    line = losses[losses["step"] > 0]
    circles = counts.loc[losses["run_id"].iloc[0], "n_circles"]
    text = f"{label}: {circles} circle{'' if circles == 1 else 's'}"
    axes.plot(line["step"], line["test_loss"], color=colour, linewidth=1, label=text)


def draw(study: Study) -> Figure:
    """Draw test losses, log-log, of runs from all frequencies, the strongest, or random ones."""
    losses = parquet.read_table(study, "losses")
    counts = parquet.read_table(study, "circle_counts").set_index("run_id")
    columns = {"ablated_starts": "keep_strongest", "random_starts": "keep_random"}
    shown = {role: name for role, name in columns.items() if role in study.reproduce}
    experiments = {role: study.reproduce[role] for role in shown}
    panels.require(
        set(experiments.values()) <= set(losses["experiment"]), "no run from an ablated embedding"
    )
    figure, grid = panels.row(len(shown), 4.3 * len(shown), 3.3, sharey=True)
    for axes, (role, column) in zip(grid, shown.items(), strict=True):
        # One base run, and its ablated starts, which have the same seed.
        seed = losses.loc[losses["experiment"] == experiments[role], "seed"].min()
        lines = losses[losses["seed"] == seed]
        parent = study.experiment(experiments[role])[0].parent
        base = parent.experiment if parent else study.reproduce["trajectory"]
        _line(axes, lines[lines["experiment"] == base], counts, style.BLUE, "all frequencies")
        for n, line in lines[lines["experiment"] == experiments[role]].groupby(column):
            which = "strongest final" if role == "ablated_starts" else "random"
            colour = {1: style.ORANGE, 2: style.GREEN}.get(n, style.GREY)
            _line(axes, line, counts, colour, f"{n} {which}")
        axes.set(xlabel="step", ylabel="test loss (nat)", xscale="log", yscale="log")
        axes.set_title(f"seed {seed}")
        axes.legend()
        axes.label_outer()
    return figure
