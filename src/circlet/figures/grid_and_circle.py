"""Embeddings organise into grids and circles (Mușat, figure 1)."""

from matplotlib.figure import Figure

from circlet.figures import exemplar_panels
from circlet.plan import Study

ROLES = ("table1",)
TABLES = ("exemplars", "embeddings")


def draw(study: Study) -> Figure:
    """The exemplary grid and circle."""
    return exemplar_panels.embeddings(study, "table1", ("grid", "circle"))
