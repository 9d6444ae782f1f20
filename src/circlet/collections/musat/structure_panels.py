"""Panel of a structure's classifier, and captions of panels."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from circlet.plotting import panels, style


def classifier(axes: Axes, grid: pd.DataFrame, sums: pd.DataFrame, size: float = 9) -> None:
    """Regions of the classifier and the train pair sums of one run, both coloured by class.

    ``grid`` are its rows of ``classifier_maps``, ``sums`` those of ``pair_sums``; ``size`` is the
    area of a marker, in square points.
    """
    p = int(sums["target"].max()) + 1
    side = round(len(grid) ** 0.5)
    reach = float(grid["x"].max())
    regions = grid.sort_values(["y", "x"])["predicted"].to_numpy().reshape(side, side)
    pale, strong = (ListedColormap(style.classes(p, lightness)) for lightness in (0.78, 0.4))
    ends = {"vmin": -0.5, "vmax": p - 0.5}
    square = (-reach, reach, -reach, reach)
    axes.imshow(regions, pale, extent=square, origin="lower", interpolation="nearest", **ends)
    train = sums[sums["train"]]
    edge = {"edgecolors": "white", "linewidths": 0.3}
    axes.scatter(train["x"], train["y"], size, train["target"], cmap=strong, **edge, **ends)
    panels.square(axes, reach)


def label(row: pd.Series) -> str:
    """Caption of a panel: circle or number of imperfections, and accuracy where there is one."""
    text = "circle" if row["is_circle"] else f"{row['imperfections']} imp."
    if pd.notna(row["test_accuracy"]):
        text += f", {100 * row['test_accuracy']:.0f} %"
    return text
