"""An imperfect grid: the non-circle at the weight decay nearest to 1 whose number of imperfections
is nearest to the mean; Mușat, figure 2.
"""

from matplotlib.figure import Figure

from circlet.collections.musat import structure_panels
from circlet.study.plan import Study

ROLES = ("table1",)
TABLES = ("exemplars", "embeddings")


def draw(study: Study) -> Figure:
    """The exemplary imperfect grid."""
    return structure_panels.embeddings(study, "table1", ("imperfect_grid",))
