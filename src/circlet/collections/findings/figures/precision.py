"""Train loss (left) and final number of circles for each seed (right) of the same runs in several
arithmetics. If there are many, exact arithmetics are above and cancelling ones below. Outlined on
top: circles of the float64 run with the same seed that this run lost. "Cancelling" is the usual
logit gradient of the cross-entropy, softmax - 1 for the right class; "exact" computes it as minus
the sum of the other probabilities. "tf32 products" and "bfloat16 products": the factors of matrix
products are rounded, everything else is float32.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("precision",)
TABLES = ("precision", "losses")

_MAX_ARITHMETICS = 4  # arithmetics in a panel

# Exact arithmetics may coincide: a broad line below, dashed lines above.
_STYLES = {
    "float64 exact": {"color": style.BLUE, "lw": 2.0},
    "float32 exact": {"color": style.GREEN, "lw": 0.8, "ls": "--"},
    "float32 exact, tf32 products": {"color": style.PINK, "lw": 0.8, "ls": ":"},
    "float32 exact, bfloat16 products": {"color": style.YELLOW, "lw": 0.6},
    "float32 cancelling": {"color": style.ORANGE, "lw": 0.6},
    "float64 cancelling": {"color": style.GREY, "lw": 0.6},
    "float32 cancelling, tf32 products": {"color": style.PINK, "lw": 0.6, "ls": ":"},
    "float32 cancelling, bfloat16 products": {"color": style.YELLOW, "lw": 0.6},
}


def draw(study: Study) -> Figure:
    """Left: train loss of every run; right: circles of every seed in each arithmetic."""
    runs = parquet.read_table(study, "precision")
    losses = parquet.read_table(study, "losses", "precision")
    panels.require(len(runs))
    shown = [name for name in _STYLES if (runs["arithmetic"] == name).any()]
    rows = [shown]
    if len(shown) > _MAX_ARITHMETICS:
        rows = [[n for n in shown if word in n] for word in ("exact", "cancelling")]
    figure = Figure(figsize=(9, 3.5 * len(rows)))
    axes = figure.subplots(len(rows), 2, squeeze=False, width_ratios=[1.25, 1])
    named = losses.merge(runs[["run_id", "arithmetic"]], on="run_id")
    for (left, right), names in zip(axes, rows, strict=True):
        _draw_losses(left, named, names)
        _draw_circles(right, runs, names)
    axes[0, 0].set_title(f"{runs['seed'].nunique()} seeds, the same starts in each arithmetic")
    axes[0, 1].set_title("outlined: circles of the float64 run that died")
    return figure


def _draw_losses(axes: Axes, losses: pd.DataFrame, names: list[str]) -> None:
    for name in names:
        for i, (_, line) in enumerate(losses[losses["arithmetic"] == name].groupby("run_id")):
            line = line[line["step"] > 0]
            axes.plot(line["step"], line["train_loss"].clip(lower=1e-9), **_STYLES[name], alpha=0.6,
                      label=name if i == 0 else None)  # fmt: skip
    axes.set(xlabel="step", ylabel="train loss (nat)", xscale="log", yscale="log")
    axes.legend(loc="lower left")


def _draw_circles(axes: Axes, runs: pd.DataFrame, names: list[str]) -> None:
    seeds, width = sorted(runs["seed"].unique()), 0.8 / len(names)
    for i, name in enumerate(names):
        rows, colour = runs[runs["arithmetic"] == name], _STYLES[name]["color"]
        place = rows["seed"].map({seed: at for at, seed in enumerate(seeds)})
        x = place + (i - (len(names) - 1) / 2) * width
        axes.bar(x, rows["n_circles"], width, color=colour, label=name)
        axes.bar(x, rows["lost"], width * 0.8, bottom=rows["n_circles"], fill=False,
                 edgecolor=colour, lw=0.8)  # fmt: skip
    axes.set_xticks(range(len(seeds)), seeds, rotation=90 if len(seeds) > 16 else 0)
    highest = runs["n_circles"].add(runs["lost"], fill_value=0).max()
    axes.set(xlabel="seed", ylabel="circles at the end", ylim=(0, highest + 0.5))
