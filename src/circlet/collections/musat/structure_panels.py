"""Panels of an embedding's structure and of its classifier, their captions, and exemplars."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

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


def embeddings(study: Study, role: str, structures: tuple[str, ...]) -> Figure:
    """The exemplars of some structures side by side."""
    figure, grid = panels.row(len(structures), 3.1 * len(structures), 3.5)
    for axes, structure in zip(grid, structures, strict=True):
        _embedding(axes, study, role, structure)
    return figure


def with_classifier(study: Study, structure: str) -> Figure:
    """An exemplar's embedding (left) and its classifier with the train pair sums (right)."""
    figure, (left, right) = panels.row(2, 7.2, 3.9)
    run_id = _embedding(left, study, "table1", structure)
    if run_id is None:
        right.axis("off")
        return figure
    tables = (parquet.read_table(study, name) for name in ("classifier_maps", "pair_sums"))
    maps, sums = (table[table["run_id"] == run_id] for table in tables)
    classifier(right, maps, sums, 16)
    right.set_title("predicted class and train pair sums")
    return figure


def _embedding(axes: Axes, study: Study, role: str, structure: str) -> str | None:
    """Draw an exemplar; returns its run_id. If the structure never formed, the panel says so."""
    exemplars = parquet.read_table(study, "exemplars")
    matching = exemplars[(exemplars["role"] == role) & (exemplars["structure"] == structure)]
    if matching.empty:
        panels.missing(axes, f"no {structure.replace('_', ' ')} among these runs")
        return None
    row = matching.iloc[0]
    vectors = panels.vectors(parquet.read_table(study, "embeddings"), row["run_id"])
    panels.embedding(axes, vectors, fontsize=9)
    axes.set_title(_title(row))
    panels.plays(axes, row["run_id"])
    return row["run_id"]


def _title(row: pd.Series) -> str:
    text = row["structure"].replace("_", " ")
    if text == "circle":
        text += f", norm ratio {row['norm_ratio']:.2f}"
    else:
        text += f", {row['imperfections']} imperfections"
    if pd.notna(row["test_accuracy"]):
        text += f", {100 * row['test_accuracy']:.0f} % accuracy"
    return f"{text}\n{row['run_id']}"
