"""A grid and its classifier (Mușat, figure 3)."""

from matplotlib.figure import Figure

from circlet.figures import exemplar_panels
from circlet.plan import Study

ROLES = ("table1",)
TABLES = ("exemplars", "embeddings", "classifier_maps", "pair_sums")


def draw(study: Study) -> Figure:
    """The exemplary grid, its pair sums and the regions of its classifier."""
    return exemplar_panels.with_classifier(study, "grid")
