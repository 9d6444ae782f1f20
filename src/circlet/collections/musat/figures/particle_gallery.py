"""Arrangements of twenty particle simulations for each strength f_a of the alignment force; Mușat,
appendix. Above each panel: circle or the number of imperfections. Seeds are not selected.
"""

from matplotlib.figure import Figure

from circlet.collections.musat.figures import embedding_gallery
from circlet.study.plan import Study

ROLES = ("table2",)
TABLES = ("structures", "embeddings")


def draw(study: Study) -> Figure:
    """Twenty arrangements for each f_a."""
    return embedding_gallery.gallery(study, "table2", "f_a", "alignment force f_a")
