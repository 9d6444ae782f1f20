"""Cosine between the descent direction of the embeddings of networks and the forces of Mușat's
particle model, against the step. The descent direction is minus the loss gradient on train pairs;
the forces are attraction, repulsion and alignment. Shift and scale of every coordinate are removed
from both. Colours: the structure at the end; among the runs that are not circles, the half with
fewer imperfections are called grids. Dashed and grey: the same with relabelled numbers, which shows
the effect of geometry alone. Bands are 95 % intervals of means over runs, for structures with at
least five runs.
"""

from matplotlib.figure import Figure

from circlet.collections.findings import forces
from circlet.config.schedules import evenly
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("network_forces",)
TABLES = ("force_summary",)

_FEWEST = 5  # runs at least: with fewer the interval fills the panel
_COLOURS = {"circle": style.ORANGE, "grid": style.BLUE, "imperfect": style.GREEN}


def draw(study: Study) -> Figure:
    """A row per point (twelve at most), a column per force; step 0 stands at 0.5."""
    summary = parquet.read_table(study, "force_summary")
    shown = summary[summary["pairs"] == "train"].assign(step=summary["step"].clip(lower=0.5))
    points = evenly([rows for _, rows in shown.groupby(["d", "weight_decay"])], panels.MAX_VALUES)
    panels.require(points)
    figure = Figure(figsize=(9, 0.6 + 1.5 * len(points)))
    grid = figure.subplots(len(points), 3, squeeze=False, sharex=True, sharey=True)
    for line, rows in zip(grid, points, strict=True):
        for axes, force in zip(line, forces.FORCES, strict=True):
            cosines = rows[rows["measure"] == f"cosine_{force}"]
            axes.axhline(0, color="0.85", lw=0.6)
            for name, colour in _COLOURS.items():
                runs = cosines[cosines["structure"] == name].sort_values("step")
                if not (runs["n_runs"] >= _FEWEST).any():
                    continue
                axes.plot(runs["step"], runs["null"], color=colour, lw=0.8, ls="--")
                axes.fill_between(runs["step"], runs["null_low"], runs["null_high"],
                                  color=style.GREY, alpha=0.25, linewidth=0)  # fmt: skip
                panels.band(axes, runs, "step", "value", colour, f"{name}: {runs['n_runs'].max()}")
        d, weight_decay = rows["d"].iloc[0], rows["weight_decay"].iloc[0]
        line[0].set_ylabel(f"d = {d}, weight decay {weight_decay:g}\ncosine", fontsize=8)
        if line[0].get_legend_handles_labels()[0]:
            line[0].legend(fontsize=6, loc="upper left", title="runs")
    for axes, force in zip(grid[0], forces.FORCES, strict=True):
        axes.set_title(force)
    for axes in grid[-1]:
        axes.set(xscale="log", xlabel="step", ylim=(-0.6, 0.9))
    return figure
