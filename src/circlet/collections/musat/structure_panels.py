"""Panels of an embedding's structure and of its classifier, their captions, and exemplars."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study


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


def exemplars(study: Study, role: str, panel_by_structure: dict[str, Axes]) -> dict[str, str]:
    """Draw the exemplar of each structure in its panel; return the run_ids of those that exist."""
    table = parquet.read_table(study, "exemplars")
    of_role = table[table["role"] == role].set_index("structure")
    embeddings = parquet.read_table(study, "embeddings")
    for structure, axes in panel_by_structure.items():
        if structure not in of_role.index:
            panels.missing(axes, f"no {structure.replace('_', ' ')} among these runs")
            continue
        row = of_role.loc[structure]
        panels.embedding(axes, panels.vectors(embeddings, row["run_id"]), fontsize=9)
        axes.set_title(_title(row))
        panels.plays(axes, row["run_id"])
    return of_role["run_id"].to_dict()


def _title(row: pd.Series) -> str:
    text = str(row.name).replace("_", " ")
    if text == "circle":
        text += f", norm ratio {row['norm_ratio']:.2f}"
    else:
        text += f", {row['imperfections']} imperfections"
    if pd.notna(row["test_accuracy"]):
        text += f", {100 * row['test_accuracy']:.0f} % accuracy"
    return f"{text}\n{row['run_id']}"
