"""Panels that several figures share: an embedding, a classifier, lines of circles and fits."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from circlet.plotting import style
from circlet.study.schedules import evenly

CENTRED: dict[str, Any] = {"ha": "center", "va": "center"}


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
        axes.text(*vector, str(number), color=colour, fontsize=fontsize, zorder=2, **CENTRED)
    _square(axes, 1.15 * np.abs(vectors).max())


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
    _square(axes, reach)


def _square(axes: Axes, reach: float) -> None:
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
    axes.spines[["top", "right", "bottom", "left"]].set(visible=True, color="0.85")


def missing(axes: Axes, text: str) -> None:
    """An empty panel that says what the study does not have."""
    place = {"transform": axes.transAxes, **CENTRED}
    axes.text(0.5, 0.5, text, color=style.GREY, fontsize=8, wrap=True, **place)
    axes.set(xticks=[], yticks=[])
    axes.spines[["bottom", "left"]].set_visible(False)


def nothing(text: str) -> Figure:
    """A figure that says why there is nothing to draw."""
    figure = Figure(figsize=(5, 1.5))
    missing(figure.subplots(), text)
    return figure


def row(n: int, width: float, height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure, of a size in inches, of n panels side by side."""
    figure = Figure(figsize=(width, height))
    return figure, list(figure.subplots(1, n, squeeze=False, **options)[0])


def vectors(embeddings: pd.DataFrame, run_id: str) -> np.ndarray:
    """Embedding (p, d) of one run, from the table ``embeddings``."""
    frame = embeddings[embeddings["run_id"] == run_id].sort_values("token")
    return np.stack(frame["vector"])


def train_and_test(axes: Axes, losses: pd.DataFrame, what: str, per_epoch: int) -> None:
    """Loss or accuracy of one run on its train and test set, by epoch."""
    for part, colour in (("train", style.BLUE), ("test", style.ORANGE)):
        epoch = losses["step"] / per_epoch
        axes.plot(epoch, losses[f"{part}_{what}"], color=colour, lw=0.9, label=part)
    axes.set(xlabel="epoch", ylabel={"loss": "loss (nat)"}.get(what, what))


MOST_VALUES = 12


def some(values: Iterable[float]) -> list[float]:
    """Values that a figure has a panel for: all, or twelve of more, evenly from first to last."""
    return evenly(sorted(values), MOST_VALUES)


def gallery(columns: int, width: float, sections: list[tuple[str, list[str]]]):
    """A figure of square panels in sections, and for each section its run_ids with their axes.

    So many panels are in a row (``columns``); ``width`` is the side of one, in inches. ``sections``
    are titles with run_ids.
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


def band(axes: Axes, rows: pd.DataFrame, x: str, y: str, colour, label: str | None = None) -> None:
    """A line of estimates with dots and the band of their 95 % intervals.

    Two runs have an interval, too, but so wide that a band would only hide the dots.
    """
    rows = rows.sort_values(x)
    told = rows[f"{y}_n"] > 2
    axes.plot(rows[x], rows[y], color=colour, marker="o", markersize=3, linewidth=1.2, label=label)
    axes.fill_between(
        rows[x], rows[f"{y}_low"], rows[f"{y}_high"], where=told, color=colour, alpha=0.2,
        linewidth=0,
    )  # fmt: skip


def by_survival(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    """A line per frequency of one run over steps: survivors in colour, the others grey."""
    survivors = sorted(rows.loc[rows["survived"], "frequency"].unique())
    hues = style.classes(max(len(survivors), 1), lightness=0.42)
    colours = dict(zip(survivors, hues, strict=False))
    for k, line in sorted(rows.groupby("frequency"), key=lambda item: item[0] in colours):
        line = line.sort_values("step")
        alive = k in colours
        axes.plot(
            line["step"], line[column], color=colours.get(k, "0.75"),
            linewidth=1.3 if alive else 0.6, label=f"k = {k}" if alive else None,
        )  # fmt: skip
    if survivors:
        axes.legend(fontsize=7)


def circle_plane(
    axes: Axes, points: pd.DataFrame, step: int | None = None, reach: float | None = None
) -> int:
    """Numbers at their places in a plane, joined in steps of ``step``; returns that step."""
    points = points.sort_values("token")
    xy = points[["x", "y"]].to_numpy()
    p = len(xy)
    step = step or best_step(xy)
    loop = xy[(np.arange(p + 1) * step) % p]
    axes.plot(*loop.T, color="0.8", linewidth=0.5, zorder=1)
    axes.scatter(*xy.T, c=style.classes(p, lightness=0.42), s=9, zorder=2, linewidths=0)
    _square(axes, reach or 1.15 * np.abs(xy).max())
    return step


def ode_lines(axes: Axes, lines: pd.DataFrame) -> None:
    """The signal of one frequency, and the rollouts of its fits."""
    top = 2 * lines["signal"].max()
    for column, colour, dashes, label in (
        ("signal", "black", "-", "signal"),
        ("least_squares", style.BLUE, "--", "least squares"),
        ("lasso", style.ORANGE, "--", "Lasso"),
        ("analytic", style.GREEN, ":", "Lasso, analytic"),
    ):
        line = lines.sort_values("step")
        axes.plot(
            line["step"], line[column].clip(-top, top), color=colour, linestyle=dashes,
            linewidth=1.2, label=label,
        )  # fmt: skip


def coefficient_map(figure: Figure, axes: Axes, coefficients: pd.DataFrame) -> None:
    """Matrix A of one run: targets down, sources across, without the constants."""
    matrix = coefficients[coefficients["source"] > 0].pivot(
        index="target", columns="source", values="coefficient"
    )
    reach = float(np.abs(matrix.to_numpy()).max()) or 1.0
    n = len(matrix)
    image = axes.imshow(
        matrix, cmap="RdBu_r", vmin=-reach, vmax=reach, extent=(0.5, n + 0.5, n + 0.5, 0.5)
    )
    figure.colorbar(image, ax=axes, shrink=0.85)
    axes.set(xlabel="source frequency", ylabel="target frequency")
