"""One look for all figures: fonts, sizes, colours."""

import colorsys

from matplotlib.colors import LinearSegmentedColormap, to_rgb

TITLE, LEGEND = 8, 7  # sizes of type, in points

RC = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": TITLE,
    "legend.fontsize": LEGEND,
    "legend.title_fontsize": LEGEND,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text: small files, searchable
    "svg.hashsalt": "circlet",  # the same figure gives the same bytes
}

# Okabe and Ito's palette, which colour-blind readers can distinguish.
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#767676"
LIGHT_BLUE, PINK, YELLOW = "#56b4e9", "#cc79a7", "#e69f00"

# As in the explorer: blue is positive, orange negative.
DIVERGING = LinearSegmentedColormap.from_list("diverging", [ORANGE, "white", BLUE])

_LABELS = [BLUE, ORANGE, GREEN, PINK, YELLOW, LIGHT_BLUE]


def labels(n: int) -> list[tuple]:
    """Return n colours for classes that are not circles; all readers can distinguish up to six."""
    if n <= len(_LABELS):
        return [to_rgb(colour) for colour in _LABELS[:n]]
    return classes(n, lightness=0.42)


def classes(p: int, lightness: float = 0.5, saturation: float = 0.75) -> list[tuple]:
    """Return a colour for each number mod p, around the colour circle."""
    return [colorsys.hls_to_rgb(k / p, lightness, saturation) for k in range(p)]
