"""Particles form the same structures (Mușat, figure 5)."""

from matplotlib.figure import Figure

from circlet.figures import exemplar_panels
from circlet.plan import Study

ROLES = ("table2",)
TABLES = ("exemplars", "embeddings")


def draw(study: Study) -> Figure:
    """The exemplary circle, grid and imperfect grid of the particles."""
    return exemplar_panels.embeddings(study, "table2", ("circle", "grid", "imperfect_grid"))
