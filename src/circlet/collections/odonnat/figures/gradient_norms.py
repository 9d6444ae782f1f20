"""Odonnat et al., figure 3: losses, accuracies, and norms of the gradient on the whole train set by
part of the network. Top: the run of figure 2, trained in batches (log scale). Bottom: the most
accurate run with full batches (linear scale).
"""

from matplotlib.figure import Figure

from circlet.collections.odonnat import success
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

OPTIONAL_ROLES = ("heads", "full_batch")
TABLES = ("gradient_norms", "losses", "heads")
OPTIONAL_TABLES = ("snapshots",)

_PARTS = {
    "embedding": style.BLUE,
    "position": "#56b4e9",
    "query": style.GREEN,
    "value.weight": "#e69f00",
    "hidden.weight": style.ORANGE,
    "hidden.bias": "#f0a58a",
    "output.weight": "#cc79a7",
    "output.bias": "#e5c0d6",
}


def draw(study: Study) -> Figure:
    """Above a run in batches, log scale; below one with full batches, linear scale."""
    heads = parquet.read_table(study, "heads")
    per_epoch = heads.set_index("run_id")["steps_per_epoch"]
    norms, losses = parquet.read_table(study, "gradient_norms"), parquet.read_table(study, "losses")
    shown = {}
    if "heads" in study.reproduce:
        snapshots = parquet.read_table(study, "snapshots", "heads").query("role == 'two_phases'")
        if len(snapshots):
            shown["in batches"] = snapshots["run_id"].iloc[0], "log"
    if "full_batch" in study.reproduce:
        subset = heads[heads["experiment"] == study.reproduce["full_batch"]]
        if len(subset):
            shown["full batches"] = success.best(subset), "linear"
    panels.require(shown)
    figure = Figure(figsize=(10, 2.7 * len(shown)))
    rows = figure.subplots(len(shown), 3, squeeze=False)
    for (left, middle, right), (title, (run_id, scale)) in zip(rows, shown.items(), strict=True):
        subset = losses[losses["run_id"] == run_id]
        panels.train_and_test(left, subset, "loss", per_epoch[run_id])
        left.legend()
        left.set_title(f"{title}: {run_id}", fontsize=7)
        panels.plays(left, run_id)
        panels.train_and_test(middle, subset, "accuracy", per_epoch[run_id])
        of_run = norms[norms["run_id"] == run_id]
        for name, colour in _PARTS.items():
            line = of_run[of_run["name"] == name]
            epoch = line["step"] / per_epoch[run_id]
            right.plot(epoch, line["norm"], color=colour, lw=0.8, label=name)
        right.set(xlabel="epoch", ylabel="gradient norm", yscale=scale)
    rows[0][2].legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure
