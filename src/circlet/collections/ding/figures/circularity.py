"""Circularity of the initial embedding against its dimension (left), and of frequencies that die
and that survive (right); Ding et al., figure 11.
"""

import numpy as np
from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("dimensions",)
TABLES = ("outcome_summary", "survival")


def draw(study: Study) -> Figure:
    """Draw mean and largest circularity against d (left), and of dead and surviving circles."""
    summary = parquet.read_table(study, "outcome_summary", "dimensions")
    n_embeddings = summary.loc[summary["outcome"] == "max_circularity", "n_runs"].min()
    survival = parquet.read_table(study, "survival", "dimensions")
    panels.require(len(survival))
    figure, (left, right) = panels.row(2, 7.6, 3.1)
    for column, colour, label in (
        ("max_circularity", style.ORANGE, "largest of all frequencies"),
        ("mean_circularity", style.BLUE, "mean"),
    ):
        panels.outcome(left, summary, "d", column, colour, label)
    left.set(xlabel="embedding dimension d", ylabel="circularity at step 0", ylim=(0, 1))
    left.set_title(f"{n_embeddings} embeddings per d")
    left.legend()
    largest = survival["d"].max()
    at_largest = survival[survival["d"] == largest]
    edges = np.linspace(at_largest["circularity"].min(), at_largest["circularity"].max(), 26)
    for alive, colour, label in ((False, style.BLUE, "dead"), (True, style.ORANGE, "survived")):
        values = at_largest.loc[at_largest["survived"] == alive, "circularity"]
        if len(values):
            right.hist(values, edges, density=True, color=colour, alpha=0.5, label=label)
    right.set(xlabel=f"circularity at step 0, d = {largest}", ylabel="density of frequencies")
    right.set_title(f"{at_largest['run_id'].nunique()} runs")
    right.legend()
    return figure
