"""Ding et al., figure 12. Test loss of networks that start with only the strongest final circles of
another run (left), or with random ones (right), beside that run. The legend says how many circles
each ends with.
"""

from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("trajectory",)
OPTIONAL_ROLES = ("ablated_starts", "random_starts")
TABLES = ("losses", "circle_counts")

_COLOURS = {1: style.ORANGE, 2: style.GREEN}


def draw(study: Study) -> Figure:
    """Test loss, log-log: from all frequencies, from the strongest, from random ones."""
    losses = {role: parquet.read_table(study, "losses", role) for role in study.reproduce}
    counts = parquet.read_table(study, "circle_counts").set_index("run_id")
    columns = {"ablated_starts": "keep_strongest", "random_starts": "keep_random"}
    shown = {role: name for role, name in columns.items() if role in study.reproduce}
    if any(losses[role].empty for role in shown):
        return panels.nothing("no run from an ablated embedding")
    # One base run; with it its ablated starts, which have its seed.
    seed = min(losses[role]["seed"].min() for role in shown)
    figure = Figure(figsize=(4.3 * len(shown), 3.3))
    grid = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    for axes, (role, column) in zip(grid, shown.items(), strict=True):
        base = losses["trajectory"].query("seed == @seed")
        panels.loss_line(axes, base, counts, style.BLUE, "all frequencies")
        here = losses[role].query("seed == @seed")
        for n, line in here.groupby(column):
            which = "strongest final" if role == "ablated_starts" else "random"
            panels.loss_line(axes, line, counts, _COLOURS.get(n, style.GREY), f"{n} {which}")
        axes.set(xlabel="step", ylabel="test loss (nat)", xscale="log", yscale="log")
        axes.set_title(f"seed {seed}", fontsize=8)
        axes.legend(fontsize=7)
        axes.label_outer()
    return figure
