"""Ding et al., figure 13. Norm of the loss gradient with respect to the embedding, for every
frequency; survivors in colour.
"""

from matplotlib.figure import Figure

from circlet.collections.ding import circle_panels
from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("trajectory",)
TABLES = ("trajectories",)


def draw(study: Study) -> Figure:
    """Draw the gradient norms over all steps, and over steps 100 to 1000."""
    rows = parquet.read_table(study, "trajectories", "trajectory").dropna(subset=["gradient"])
    panels.require(len(rows), "no finished run with its gradients logged")
    rows = rows[rows["run_id"] == rows["run_id"].iloc[0]]
    figure, (left, right) = panels.row(2, 8, 3.1)
    circle_panels.by_survival(left, rows, "gradient")
    left.set(xlabel="step", ylabel="gradient norm at k", xscale="symlog")
    panels.plays(left, rows["run_id"].iloc[0])
    zoomed = rows[(rows["step"] >= 100) & (rows["step"] <= 1000)]
    if zoomed.empty:
        panels.missing(right, "the run ends before step 100")
    else:
        circle_panels.by_survival(right, zoomed, "gradient")
        right.set(xlabel="step, 100 to 1000", ylabel="gradient norm at k")
    return figure
