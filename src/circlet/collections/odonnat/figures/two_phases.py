"""Two phases of learning: sequence embeddings of probes over the decisions of the classifier, at
the four epochs that the curves mark; Odonnat et al., figure 2. The clusters come first, with the
first drop of the loss; then the classifier is fitted. The run is the successful run with the median
time between head and fit.
"""

from matplotlib.figure import Figure

from circlet.analysis import log_frames
from circlet.collections.odonnat import network_panels
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("heads",)
TABLES = ("snapshots", "losses", "heads")

_NAMES = {
    "before": "before the head",
    "structured": "head formed",
    "classifying": "half-way to the fit",
    "fitted": "fitted",
}


def draw(study: Study) -> Figure:
    """Above, loss and accuracy of the run; below, sequence embeddings over the decision map."""
    snapshots = parquet.read_table(study, "snapshots", "heads").query("role == 'two_phases'")
    panels.require(len(snapshots), "no run that solved its task after its head had formed")
    run_id = snapshots["run_id"].iloc[0]
    losses = parquet.read_table(study, "losses", "heads").query("run_id == @run_id")
    heads = parquet.read_table(study, "heads").set_index("run_id")
    per_epoch = heads.loc[run_id, "steps_per_epoch"]
    figure = Figure(figsize=(9.2, 5.4))
    above, below = figure.subfigures(2, 1, height_ratios=[1, 1.25])
    left, right = above.subplots(1, 2)
    panels.train_and_test(left, losses, "loss", per_epoch)
    panels.train_and_test(right, losses, "accuracy", per_epoch)
    left.legend()
    all_axes = below.subplots(1, len(_NAMES))
    for i, (axes, (moment, name)) in enumerate(zip(all_axes, _NAMES.items(), strict=True)):
        rows = snapshots[snapshots["moment"] == moment]
        step = int(rows["step"].iloc[0])
        network_panels.decisions(axes, log_frames.arrays(rows))
        axes.set_title(f"{i + 1}. {name}\nepoch {step / per_epoch:.0f}")
        panels.plays(axes, run_id, step)
        for curve in (left, right):
            curve.axvline(step / per_epoch, color=style.GREY, lw=0.8, ls="--")
        left.annotate(
            f"{i + 1}", (step / per_epoch, 1.01), xycoords=("data", "axes fraction"), fontsize=7,
            ha="center",
        )  # fmt: skip
    integers = " ".join(map(str, heads.loc[run_id, "integers"]))
    above.suptitle(f"{run_id}: integers {integers}", fontsize=9)
    return figure
