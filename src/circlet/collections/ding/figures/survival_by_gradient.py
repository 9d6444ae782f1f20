"""Survival of frequencies against their gradients at the first steps; Ding et al., figure 7. Left:
relative gradients at step 4 of frequencies that die and survive. Middle: survival rate against the
gradient at steps 1 to 4. Right: signal and gradient together. Most frequencies die, so the accuracy
of the linear SVM is given with that of always answering "dead", and with the area under the ROC
curve, which is 0.5 for every constant answer.
"""

import numpy as np
from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("initial_gradients",)
TABLES = ("survival", "gradient_rates", "survival_classifiers")


def draw(study: Study) -> Figure:
    """Histogram at step 4; survival rate by bin for steps 1 to 4; signal against gradient."""
    survival = parquet.read_table(study, "survival", "initial_gradients")
    survival = survival.dropna(subset=["initial_gradient"])
    rates = parquet.read_table(study, "gradient_rates")
    panels.require(len(survival) and len(rates), "no finished run with signals at steps 0 to 4")
    rule = rates["rule"].iloc[0]
    alive = survival["survived_absolute" if rule == "B" else "survived"].to_numpy(bool)
    gradient = survival["initial_gradient"].to_numpy()
    figure, (left, middle, right) = panels.row(3, 9.6, 3.2)
    edges = np.linspace(gradient.min(), gradient.max(), 31)
    left.hist([gradient[~alive], gradient[alive]], edges, stacked=True,
              color=[style.BLUE, style.ORANGE], label=["dead", "survived"])  # fmt: skip
    left.legend()
    for axes in (left, middle):
        axes.locator_params(axis="x", nbins=5)
    left.set(xlabel="relative gradient at step 4", ylabel="frequencies of all runs")
    n_runs, n_embeddings = survival["run_id"].nunique(), survival["embedding_seed"].nunique()
    left.set_title(f"{n_runs} runs, {n_embeddings} embeddings, rule {rule}")

    for shade, (step, line) in zip((0.3, 0.5, 0.75, 1), rates.groupby("step"), strict=False):
        line = line[line["rate_n"] >= 10]
        center = (line["bin_low"] + line["bin_high"]) / 2
        middle.plot(center, line["rate"], color=style.BLUE, alpha=shade,
                    marker="o", markersize=2.5, label=f"step {step}")  # fmt: skip
    middle.legend()
    middle.set(xlabel="relative gradient", ylabel="survival rate", ylim=(-0.04, 1.04))
    middle.set_title("bins with at least 10 frequencies")

    for kind, colour, name in ((~alive, style.BLUE, "dead"), (alive, style.ORANGE, "survived")):
        right.scatter(survival["initial_signal"][kind], gradient[kind], s=5, color=colour,
                      alpha=0.5, lw=0, label=name, rasterized=True)  # fmt: skip
    right.set(xlabel="initial signal", ylabel="relative gradient at step 4")
    scores = parquet.read_table(study, "survival_classifiers", "initial_gradients")
    scores = scores[scores["features"] == "both"]
    if len(scores):
        score = scores.iloc[0]
        shares = f"linear SVM {score['accuracy']:.1f} %, always 'dead' {score['majority']:.1f} %"
        held_out = f"AUC on held-out embeddings {score['auc']:.2f}"
        if np.isnan(score["auc"]):
            held_out = "one embedding, none to hold out"
        right.set_title(f"{shares}\n{held_out}")
    return figure
