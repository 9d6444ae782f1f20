"""A grid (left) and a circle (right), with each number at its embedding vector; Mușat, figure 1.
Lines join numbers in the arithmetic progression with the shortest steps. The grid is the non-circle
with the highest validation accuracy, the circle the run with the smallest ratio of norms, both
among all runs at the weight decay nearest to 1.
"""

from matplotlib.figure import Figure

from circlet.collections.musat import structure_panels
from circlet.study.plan import Study

ROLES = ("table1",)
TABLES = ("exemplars", "embeddings")


def draw(study: Study) -> Figure:
    """The exemplary grid and circle."""
    return structure_panels.embeddings(study, "table1", ("grid", "circle"))
