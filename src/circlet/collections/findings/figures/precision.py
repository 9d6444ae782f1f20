"""Beyond the paper: the same runs in several arithmetics. Left: train loss. Right: circles at the
end by seed, with the number of those that the float64 run of the seed has and this one lost.
"Cancelling" is the usual gradient of the cross-entropy, softmax - 1, for the right class; "exact"
is minus the sum of the other probabilities.
"""

from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("precision",)
TABLES = ("precision", "losses")

# The exact ones coincide: a broad line below, a dashed one above.
_STYLES = {
    "float64 exact": {"color": style.BLUE, "lw": 2.0},
    "float32 exact": {"color": style.GREEN, "lw": 0.8, "ls": "--"},
    "float32 cancelling": {"color": style.ORANGE, "lw": 0.6},
    "float64 cancelling": {"color": style.GREY, "lw": 0.6},
}


def draw(study: Study) -> Figure:
    """Left: train loss of every run; right: circles of every seed in each arithmetic."""
    runs = parquet.read_table(study, "precision")
    losses = parquet.read_table(study, "losses", "precision")
    if runs.empty:
        return panels.nothing("no finished run to draw")
    figure, (left, right) = panels.row(2, 9, 3.5, width_ratios=[1.25, 1])
    named = losses.merge(runs[["run_id", "arithmetic"]], on="run_id")
    shown = [name for name in _STYLES if (runs["arithmetic"] == name).any()]
    for name in shown:
        for i, (_, line) in enumerate(named[named["arithmetic"] == name].groupby("run_id")):
            line = line[line["step"] > 0].sort_values("step")
            left.plot(line["step"], line["train_loss"].clip(lower=1e-9), **_STYLES[name], alpha=0.6,
                      label=name if i == 0 else None)  # fmt: skip
    left.set(xlabel="step", ylabel="train loss (nat)", xscale="log", yscale="log")
    left.legend(fontsize=7, loc="lower left")
    left.set_title(
        f"{runs['seed'].nunique()} seeds, the same starts in each arithmetic", fontsize=8
    )
    seeds, width = sorted(runs["seed"].unique()), 0.8 / len(shown)
    for i, name in enumerate(shown):
        here, colour = runs[runs["arithmetic"] == name], _STYLES[name]["color"]
        place = here["seed"].map({seed: at for at, seed in enumerate(seeds)})
        x = place + (i - (len(shown) - 1) / 2) * width
        right.bar(x, here["n_circles"], width, color=colour, label=name)
        for at, (_, run) in zip(x, here.iterrows(), strict=True):
            if run["lost"] == run["lost"] and run["lost"] > 0:
                right.text(at, run["n_circles"], f"-{run['lost']:.0f}", ha="center", va="bottom",
                           fontsize=7, color=colour)  # fmt: skip
    right.set_xticks(range(len(seeds)), seeds)
    right.set(xlabel="seed", ylabel="circles at the end")
    right.set_title("-n: circles of the float64 run that died", fontsize=8)
    return figure
