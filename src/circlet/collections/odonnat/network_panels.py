"""The panels of the visual sandbox: one layer of a network each (Odonnat et al.).

Each draws one part of a *view*, arrays by name as ``layer_projections.py`` makes them. Colours are
classes, of tokens or of probes; circles are positions of the prefix, squares are distractors.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from circlet.plotting import style
from circlet.plotting.panels import CENTRED

View = dict[str, np.ndarray]

MAX_LABELS = 40  # pairs of token and position that are named one by one
SCALE = 0.2  # darkest attention, unless some is larger
TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])


def _plane(axes: Axes, view: View, name: str, origin: bool = True) -> np.ndarray:
    """An empty plane for a layer, with its origin marked; returns the layer's places."""
    left, right, bottom, top = view[f"{name}_box"]
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color="0.85")
    if origin:
        axes.plot(0, 0, marker="+", color="0.6", markersize=6, zorder=0)
    return view[f"{name}_xy"]


def _colours(view: View) -> np.ndarray:
    """Colours of the classes, (vocabulary, 3)."""
    return np.array(style.labels(view["probability"].shape[1]))


def _named(axes: Axes, xy: np.ndarray, names: list[str], colours) -> None:
    for place, name, colour in zip(xy, names, colours, strict=True):
        axes.text(*place, name, color=colour, fontsize=7, **CENTRED)


def tokens(axes: Axes, view: View) -> None:
    """Token embeddings E."""
    xy = _plane(axes, view, "token")
    _named(axes, xy, [str(i) for i in range(len(xy))], _colours(view))


def positions(axes: Axes, view: View) -> None:
    """Position embeddings P: bold in the prefix."""
    xy, k = _plane(axes, view, "position"), _prefix(view)
    shades = ["black"] * k + ["0.6"] * (len(xy) - k)
    _named(axes, xy, [str(i + 1) for i in range(len(xy))], shades)


def _prefix(view: View) -> int:
    return int(view["prefix"][0])


def _pairs(axes: Axes, view: View, name: str) -> None:
    """Token and position pairs: colour is the token, the number the position."""
    xy, k = _plane(axes, view, name), _prefix(view)
    p, length = xy.shape[:2]
    for token, colour in enumerate(_colours(view)[:p]):
        if p * length <= MAX_LABELS:
            for t in range(length):
                look: dict = {"weight": "bold"} if t < k else {"alpha": 0.55}
                axes.text(*xy[token, t], str(t + 1), color=colour, fontsize=6, **look, **CENTRED)
        else:
            for part, marker in ((slice(0, k), "o"), (slice(k, None), "s")):
                axes.scatter(*xy[token, part].T, s=9, color=colour, marker=marker, linewidths=0)


def normed(axes: Axes, view: View) -> None:
    """Normed embeddings z and the direction of the query."""
    _pairs(axes, view, "normed")
    query = view["query_xy"][0]
    size = np.linalg.norm(query)
    radius = np.linalg.norm(view["normed_xy"], axis=2).max()
    tip = query / max(size, 1e-9) * 0.8 * radius
    axes.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": "0.3", "lw": 1})
    axes.text(0.03, 0.03, f"|q| = {size:.2g}", fontsize=6, color="0.3", transform=axes.transAxes)


def attention(axes: Axes, view: View) -> None:
    """Attention of the probes of class 1 to the positions."""
    rows = view["attention"][view["label"] == 1]
    axes.imshow(
        rows, cmap="Blues", vmin=0, vmax=max(SCALE, float(rows.max())), aspect="auto",
        interpolation="nearest",
    )  # fmt: skip
    axes.axvline(_prefix(view) - 0.5, color="black", linewidth=1)
    axes.set(xticks=[], yticks=[])
    axes.set_xlabel(f"position; darkest: {max(SCALE, float(rows.max())):.2g}", fontsize=6)
    axes.set_ylabel("probes", fontsize=6)


def _probes(axes: Axes, view: View, xy: np.ndarray, **options) -> None:
    shown = {"s": 12, "linewidths": 0.3, "edgecolors": "white"} | options
    axes.scatter(*xy.T, c=_colours(view)[view["label"].astype(int)], **shown)


def embeddings(axes: Axes, view: View) -> None:
    """Sequence embeddings xi of the probes, with the sums that their clusters stand for, if any."""
    xy = _plane(axes, view, "xi", origin=False)
    _probes(axes, view, xy)
    for s in np.unique(view["cluster"]) if view["legal"][0] else ():
        middle = xy[view["cluster"] == s].mean(0)
        axes.annotate(
            f"{int(s)}", middle, (4, 4), textcoords="offset points", fontsize=7, color="0.15"
        )


def decisions(axes: Axes, view: View, name: str = "xi") -> None:
    """Draw class probabilities over the plane of a layer, and the probes there."""
    pale = 1 - 0.45 * (1 - _colours(view))
    axes.imshow(
        np.clip(view[f"{name}_map"] @ pale, 0, 1), extent=tuple(view[f"{name}_box"]),
        origin="lower", interpolation="bilinear", aspect="equal",
    )  # fmt: skip
    _probes(axes, view, _plane(axes, view, name, origin=False))


def normed_embeddings(axes: Axes, view: View) -> None:
    """The input of the MLP: norm(xi)."""
    _probes(axes, view, _plane(axes, view, "s"))


def _rays(axes: Axes, view: View, name: str, marker: str) -> None:
    """Rows of W_1, over norm(xi), or columns of W_2."""
    xy = _plane(axes, view, name)
    axes.plot(*np.stack([np.zeros_like(xy), xy]).transpose(2, 0, 1), color="0.85", lw=0.5, zorder=1)
    axes.scatter(*xy.T, marker=marker, s=12, color="0.25", linewidths=0, zorder=2)


def outputs(axes: Axes, view: View) -> None:
    """The MLP's output (strong), and the residual stream (pale)."""
    _probes(axes, view, _plane(axes, view, "r"), alpha=0.3)
    _probes(axes, view, view["mlp_xy"])


def probabilities(axes: Axes, view: View) -> None:
    """Class probabilities of the probes: in a triangle, or of the right class by the sum."""
    share = view["probability"]
    if share.shape[1] == 3:
        axes.plot(*TRIANGLE[[0, 1, 2, 0]].T, color="0.8", lw=0.8)
        _named(axes, TRIANGLE + (TRIANGLE - TRIANGLE.mean(0)) * 0.16, list("012"), _colours(view))
        _probes(axes, view, share @ TRIANGLE)
        axes.set(xlim=(-0.25, 1.25), ylim=(-0.3, 1.2), aspect="equal", xticks=[], yticks=[])
        axes.spines[:].set(visible=True, color="0.85")
        return
    right = share[np.arange(len(share)), view["label"].astype(int)]
    _probes(axes, view, np.stack([view["sum"], right], axis=1))
    axes.set(ylim=(-0.05, 1.05), xlabel="sum of the prefix", ylabel="p(right)")


PANELS: dict[str, Callable[[Axes, View], None]] = {
    "token embeddings E": tokens,
    "position embeddings P": positions,
    "sums E + P": partial(_pairs, name="pair"),
    "normed z, query": normed,
    "attention (class 1)": attention,
    "values W_V z": partial(_pairs, name="value"),
    "sequence embeddings ξ": embeddings,
    "decisions on ξ": decisions,
    "normed embeddings norm(ξ)": normed_embeddings,
    "receptors (rows of W₁)": partial(_rays, name="receptor", marker="^"),
    "assemblers (columns of W₂)": partial(_rays, name="assembler", marker="v"),
    "MLP output, residual": outputs,
    "decisions on the residual": partial(decisions, name="r"),
    "class probabilities": probabilities,
}
