"""Panels that several figures share: an embedding, a classifier, a grid of small pictures."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from circlet.figures import style


def best_step(vectors: np.ndarray) -> int:
    """The g for which joining n and n + g (mod p) gives the shortest lines in total.

    It is the arithmetic progression that the eye looks for in a circle or a grid.
    """
    p = len(vectors)
    lengths = [
        np.linalg.norm(np.roll(vectors, -g, axis=0) - vectors, axis=1).sum()
        for g in range(1, p // 2 + 1)
    ]
    return 1 + int(np.argmin(lengths))


def embedding(axes: Axes, vectors: np.ndarray, fontsize: float = 7) -> None:
    """The numbers 0..p-1 at their embedding vectors (p, 2), joined in steps of ``best_step``.

    Steps more than twice as long as the median lead from one row of a grid to another and are
    left out.
    """
    p = len(vectors)
    joined = np.stack([vectors, np.roll(vectors, -best_step(vectors), axis=0)])
    lengths = np.linalg.norm(joined[1] - joined[0], axis=1)
    x, y = joined[:, lengths <= 2 * np.median(lengths)].transpose(2, 0, 1)
    axes.plot(x, y, color="0.8", linewidth=0.7, zorder=1)
    axes.axhline(0, color="0.93", linewidth=0.5, zorder=0)
    axes.axvline(0, color="0.93", linewidth=0.5, zorder=0)
    for number, (vector, colour) in enumerate(
        zip(vectors, style.classes(p, lightness=0.36), strict=True)
    ):
        axes.text(
            *vector,
            str(number),
            color=colour,
            fontsize=fontsize,
            ha="center",
            va="center",
            zorder=2,
        )
    _square(axes, 1.15 * np.abs(vectors).max())


def classifier(axes: Axes, grid: pd.DataFrame, sums: pd.DataFrame, size: float = 9) -> None:
    """Regions of the classifier and the train pair sums, both coloured by class.

    Parameters
    ----------
    axes
        Where to draw.
    grid
        Rows of ``classifier_maps`` of one run.
    sums
        Rows of ``pair_sums`` of one run.
    size
        Area of a marker, in square points.
    """
    p = int(sums["target"].max()) + 1
    side = round(len(grid) ** 0.5)
    reach = float(grid["x"].max())
    axes.imshow(
        grid.sort_values(["y", "x"])["predicted"].to_numpy().reshape(side, side),
        extent=(-reach, reach, -reach, reach),
        origin="lower",
        cmap=ListedColormap(style.classes(p, lightness=0.78)),
        vmin=-0.5,
        vmax=p - 0.5,
        interpolation="nearest",
    )
    train = sums[sums["train"]]
    axes.scatter(
        train["x"],
        train["y"],
        c=train["target"],
        cmap=ListedColormap(style.classes(p, lightness=0.4)),
        vmin=-0.5,
        vmax=p - 0.5,
        s=size,
        edgecolors="white",
        linewidths=0.3,
    )
    _square(axes, reach)


def _square(axes: Axes, reach: float) -> None:
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
    axes.spines[["top", "right", "bottom", "left"]].set(visible=True, color="0.85")


def missing(axes: Axes, text: str) -> None:
    """An empty panel that says what the study does not have."""
    axes.text(
        0.5,
        0.5,
        text,
        ha="center",
        va="center",
        color=style.GREY,
        fontsize=8,
        transform=axes.transAxes,
        wrap=True,
    )
    axes.set(xticks=[], yticks=[])
    axes.spines[["bottom", "left"]].set_visible(False)


def nothing(text: str) -> Figure:
    """A figure that says why there is nothing to draw."""
    figure = Figure(figsize=(5, 1.5))
    missing(figure.subplots(), text)
    return figure


def vectors(embeddings: pd.DataFrame, run_id: str) -> np.ndarray:
    """Embedding (p, d) of one run, from the table ``embeddings``."""
    frame = embeddings[embeddings["run_id"] == run_id].sort_values("token")
    return np.stack(frame["vector"])


def gallery(columns: int, width: float, sections: list[tuple[str, list[str]]]):
    """A figure of square panels in titled sections.

    Parameters
    ----------
    columns
        Panels in a row.
    width
        Side of a panel, in inches.
    sections
        Title and run_ids of each section.

    Returns
    -------
    Figure and, for each section, its run_ids with their axes.
    """
    sections = [(title, runs) for title, runs in sections if runs]
    if not sections:
        return nothing("no finished run to draw"), []
    rows = [-(-len(runs) // columns) for _, runs in sections]
    figure = Figure(figsize=(columns * width, (sum(rows) + 0.35 * len(rows)) * width))
    parts = figure.subfigures(len(sections), 1, height_ratios=rows, squeeze=False)[:, 0]
    placed = []
    for part, n_rows, (title, runs) in zip(parts, rows, sections, strict=True):
        part.suptitle(title, fontsize=10, x=0.01, ha="left")
        axes = part.subplots(n_rows, columns, squeeze=False).ravel()
        for empty in axes[len(runs) :]:
            empty.axis("off")
        placed.append(list(zip(runs, axes, strict=False)))
    return figure, placed


def structure_label(row: pd.Series) -> str:
    """Caption of a panel: circle or number of imperfections, and accuracy where there is one."""
    text = "circle" if row["is_circle"] else f"{row['imperfections']} imp."
    if pd.notna(row["validation_accuracy"]):
        text += f", {100 * row['validation_accuracy']:.0f} %"
    return text
