"""Train loss (left) and final number of circles for each seed (right) of the same runs in several
arithmetics, exact ones above and cancelling ones below. Outlined on top: circles of the float64 run
of the same seed that this run lost. "Cancelling" is the usual logit gradient of the cross-entropy,
softmax - 1 for the right class; "exact" computes it as minus the sum of the other probabilities.
"tf32 products" and "bfloat16 products": the factors of matrix products are rounded, everything else
is float32.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("precision",)
TABLES = ("precision", "losses")


def draw(study: Study) -> Figure:
    """Left: train loss of every run; right: circles of every seed in each arithmetic."""
    runs = parquet.read_table(study, "precision")
    losses = parquet.read_table(study, "losses", "precision")
    panels.require(len(runs))
    names = sorted(runs["arithmetic"].unique())
    by_kind = [[name for name in names if word in name] for word in ("exact", "cancelling")]
    rows = [of_kind for of_kind in by_kind if of_kind]
    figure = Figure(figsize=(9, 3.5 * len(rows)))
    axes = figure.subplots(len(rows), 2, squeeze=False, width_ratios=[1.25, 1])
    named = losses.merge(runs[["run_id", "arithmetic"]], on="run_id")
    for (left, right), of_kind in zip(axes, rows, strict=True):
        shown = dict(zip(of_kind, style.labels(len(of_kind)), strict=True))
        _draw_losses(left, named[named["step"] > 0], shown)
        _draw_circles(right, runs, shown)
    axes[0, 0].set_title(f"{runs['seed'].nunique()} seeds, the same starts in each arithmetic")
    axes[0, 1].set_title("outlined: circles of the float64 run that died")
    return figure


def _draw_losses(axes: Axes, losses: pd.DataFrame, shown: dict[str, tuple]) -> None:
    for name, colour in shown.items():
        wide = losses[losses["arithmetic"] == name].pivot(
            index="step", columns="run_id", values="train_loss"
        )
        axes.plot(wide.clip(lower=1e-9), color=colour, lw=0.7, alpha=0.6)
        axes.plot([], [], color=colour, label=name)
    axes.set(xlabel="step", ylabel="train loss (nat)", xscale="log", yscale="log")
    axes.legend(loc="lower left")


def _draw_circles(axes: Axes, runs: pd.DataFrame, shown: dict[str, tuple]) -> None:
    seeds, width = sorted(runs["seed"].unique()), 0.8 / len(shown)
    for i, (name, colour) in enumerate(shown.items()):
        rows = runs[runs["arithmetic"] == name]
        place = rows["seed"].map({seed: at for at, seed in enumerate(seeds)})
        x = place + (i - (len(shown) - 1) / 2) * width
        axes.bar(x, rows["n_circles"], width, color=colour, label=name)
        axes.bar(x, rows["lost"], width * 0.8, bottom=rows["n_circles"], fill=False,
                 edgecolor=colour, lw=0.8)  # fmt: skip
    axes.set_xticks(range(len(seeds)), seeds, rotation=90 if len(seeds) > 16 else 0)
    most = runs["n_circles"].add(runs["lost"], fill_value=0).max()
    axes.set(xlabel="seed", ylabel="circles at the end", ylim=(0, most + 0.5))
