"""Odonnat et al., figure 1: a clustering head made by hand. Token embeddings (colours) lie left and
right, positions of the prefix (circles) above, those of distractors (squares) below. The query
points up, so only the prefix gets attention, and the sequence embedding is the sum of its tokens.
Five neurons alternate the predicted class from one cluster to the next. All 4096 sequences are
classified correctly.
"""

from matplotlib.figure import Figure

from circlet.analysis import log_frames
from circlet.collections.odonnat import network_panels
from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("heads",)
TABLES = ("idealised_head",)

_SHOWN = {
    "1. tokens and positions, summed": "sums E + P",
    "2. the query looks at the prefix": "normed z, query",
    "3. attention to the positions": "attention (class 1)",
    "4. clusters by the sum": "sequence embeddings ξ",
    "5. the MLP tells them apart": "decisions on ξ",
}


def draw(study: Study) -> Figure:
    """A panel per step of the circuit."""
    view = log_frames.arrays(parquet.read_table(study, "idealised_head"))
    figure, grid = panels.row(len(_SHOWN), 11.5, 2.6)
    for axes, (title, name) in zip(grid, _SHOWN.items(), strict=True):
        network_panels.PANELS[name](axes, view)
        axes.set_title(title)
    return figure
