"""Sometimes the grid is imperfect (Mușat, figure 2)."""

from matplotlib.figure import Figure

from circlet.figures import exemplar_panels
from circlet.plan import Study

ROLES = ("table1",)
TABLES = ("exemplars", "embeddings")


def draw(study: Study) -> Figure:
    """The exemplary imperfect grid."""
    return exemplar_panels.embeddings(study, "table1", ("imperfect_grid",))
