"""A grid (left) and its classifier (right); Mușat, figure 3. The background is the class that the
trained network gives to each point of the plane of pair sums; the dots are the sums of the train
pairs, coloured by their class. Sums of the same class cluster.
"""

from matplotlib.figure import Figure

from circlet.collections.musat import structure_panels
from circlet.study.plan import Study

ROLES = ("table1",)
TABLES = ("exemplars", "embeddings", "classifier_maps", "pair_sums")


def draw(study: Study) -> Figure:
    """The exemplary grid, its pair sums and the regions of its classifier."""
    return structure_panels.with_classifier(study, "grid")
