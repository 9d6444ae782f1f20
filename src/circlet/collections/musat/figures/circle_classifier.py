"""A circle (left) and its classifier (right); Mușat, figure 4. The pair sums line up along rays
from the origin, and the regions of the classes are sectors around it.
"""

from matplotlib.figure import Figure

from circlet.collections.musat import structure_panels
from circlet.study.plan import Study

ROLES = ("table1",)
TABLES = ("exemplars", "embeddings", "classifier_maps", "pair_sums")


def draw(study: Study) -> Figure:
    """The exemplary circle, its pair sums and the regions of its classifier."""
    return structure_panels.with_classifier(study, "circle")
