"""Odonnat et al., figure 1: a clustering head made by hand. Token embeddings lie left and right,
positions of the prefix above. The query points up, so only the prefix gets attention, and the
sequence embedding is the sum of its tokens. Five neurons alternate the predicted class from one
cluster to the next. All 4096 sequences are classified correctly.
"""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.analysis import log_frames
from circlet.collections.odonnat import network_panels
from circlet.plotting import style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("heads",)
TABLES = ("idealised_head",)

_PLACES = {  # one token and position for all at its place
    (0, 0): "0 in the prefix",
    (1, 0): "1 in the prefix",
    (0, -1): "0, distractor",
    (1, -1): "1, distractor",
}


def _places(axes: Axes, view: network_panels.View) -> None:
    xy = view["pair_xy"]
    colours = style.labels(2)
    left, right, bottom, top = view["pair_box"] * 1.25
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color="0.85")
    for (token, position), name in _PLACES.items():
        x, y = xy[token, position]
        axes.scatter(x, y, s=25, color=colours[token])
        axes.text(x, y * 1.22, name, fontsize=6.5, ha="center", va="center")


def _query(axes: Axes, view: network_panels.View) -> None:
    _places(axes, view)
    axes.annotate("", (0, 0.85), (0, 0), arrowprops={"arrowstyle": "->", "color": "0.3"})
    axes.text(0.08, 0.3, "query", fontsize=7, color="0.3")


def _attention(axes: Axes, view: network_panels.View) -> None:
    network_panels.attention(axes, view)
    axes.set_xlabel("position: prefix | distractors", fontsize=8)
    axes.set_ylabel("sequences", fontsize=8)


_SHOWN = {
    "1. tokens and positions, summed": _places,
    "2. the query looks at the prefix": _query,
    "3. attention": _attention,
    "4. clusters by the sum": network_panels.embeddings,
    "5. the MLP tells them apart": network_panels.decisions,
}


def draw(study: Study) -> Figure:
    """A panel per step of the circuit."""
    view = log_frames.arrays(parquet.read_table(study, "idealised_head"))
    figure = Figure(figsize=(11.5, 2.6))
    for axes, (title, panel) in zip(figure.subplots(1, len(_SHOWN)), _SHOWN.items(), strict=True):
        panel(axes, view)
        axes.set_title(title)
    return figure
