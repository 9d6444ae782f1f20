"""A circle and its classifier, a pizza (Mușat, figure 4)."""

from matplotlib.figure import Figure

from circlet.figures import exemplar_panels
from circlet.plan import Study

ROLES = ("table1",)
TABLES = ("exemplars", "embeddings", "classifier_maps", "pair_sums")


def draw(study: Study) -> Figure:
    """The exemplary circle, its pair sums and the regions of its classifier."""
    return exemplar_panels.with_classifier(study, "circle")
