"""Particle arrangements of twenty simulations per f_a (Mușat, appendix, particle simulation)."""

from matplotlib.figure import Figure

from circlet.figures import embedding_gallery
from circlet.plan import Study

ROLES = ("table2",)
TABLES = ("structures", "embeddings")


def draw(study: Study) -> Figure:
    """Twenty arrangements for each f_a."""
    return embedding_gallery.gallery(study, "table2", "f_a", "alignment force f_a")
