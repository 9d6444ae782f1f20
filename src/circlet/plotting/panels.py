"""Panels that figures share: an embedding, losses, bands of estimates, galleries."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.config.schedules import evenly
from circlet.plotting import style
from circlet.study.plots import NOTHING

CENTRED: dict[str, Any] = {"ha": "center", "va": "center"}


def best_step(vectors: np.ndarray) -> int:
    """Return the g for which lines from n to n + g (mod p) have the least total length."""
    p = len(vectors)
    lengths = [
        np.linalg.norm(np.roll(vectors, -g, axis=0) - vectors, axis=1).sum()
        for g in range(1, p // 2 + 1)
    ]
    return 1 + int(np.argmin(lengths))


def embedding(axes: Axes, vectors: np.ndarray, fontsize: float = 7) -> None:
    """Draw the numbers 0..p-1 at their embedding vectors (p, 2), joined in steps of `best_step`.

    Lines longer than twice the median lead from one row of a grid to another and are left out.
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
        label = axes.text(*vector, str(number), color=colour, fontsize=fontsize, **CENTRED)
        label.set(zorder=2, in_layout=False)  # it lies within the panel
    square(axes, 1.15 * np.abs(vectors).max())


def square(axes: Axes, reach: float) -> None:
    """Let a panel extend from 0 by ``reach`` to all sides."""
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
    axes.spines[["top", "right", "bottom", "left"]].set(visible=True, color="0.85")


def missing(axes: Axes, text: str) -> None:
    """Write into an empty panel what the study does not have."""
    place = {"transform": axes.transAxes, **CENTRED}
    axes.text(0.5, 0.5, text, color=style.GREY, fontsize=8, wrap=True, **place)
    axes.set(xticks=[], yticks=[])
    axes.spines[["bottom", "left"]].set_visible(False)


def nothing(text: str) -> Figure:
    """Return a figure that says why there is nothing to draw."""
    figure = Figure(figsize=(5, 1.5))
    figure.set_gid(NOTHING)
    missing(figure.subplots(), text)
    return figure


class NothingToDraw(Exception):
    """A figure has no data; its text is drawn instead."""


def require(data: Any, text: str = "no finished run to draw") -> None:
    """Raise NothingToDraw with a text if data are empty, zero or false."""
    if not data:
        raise NothingToDraw(text)


def plays(axes: Axes, run_id: str, step: int | None = None) -> None:
    """Link a panel of the SVG to its run in the explorer; reports list these links, too."""
    at = {} if step is None else {"step": step}
    address = f"../explorer.html#{urlencode({'run': run_id, **at}, safe='/')}"
    axes.patch.set_url(address)
    axes.title.set_url(address)


def row(n: int, width: float, height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure of a size in inches, and its n panels side by side."""
    figure = Figure(figsize=(width, height))
    return figure, list(figure.subplots(1, n, squeeze=False, **options)[0])


def tiles(
    n: int, columns: int, width: float, height: float, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure with n panels, each of a size in inches, at most ``columns`` side by side."""
    columns = min(columns, n)
    rows = -(-n // columns)
    figure = Figure(figsize=(columns * width, rows * height))
    axes = figure.subplots(rows, columns, squeeze=False, **options).ravel()
    for empty in axes[n:]:
        empty.axis("off")
    return figure, list(axes[:n])


def vectors(embeddings: pd.DataFrame, run_id: str) -> np.ndarray:
    """Return the embedding (p, d) of one run, from the table ``embeddings``."""
    frame = embeddings[embeddings["run_id"] == run_id].sort_values("token")
    return np.stack(frame["vector"])


def train_and_test(axes: Axes, losses: pd.DataFrame, what: str, per_epoch: int) -> None:
    """Draw the loss or accuracy of one run on its train and test set, by epoch."""
    for part, colour in (("train", style.BLUE), ("test", style.ORANGE)):
        epoch = losses["step"] / per_epoch
        axes.plot(epoch, losses[f"{part}_{what}"], color=colour, lw=0.9, label=part)
    axes.set(xlabel="epoch", ylabel={"loss": "loss (nat)"}.get(what, what))


MAX_VALUES = 12


def some(values: Iterable[float]) -> list[float]:
    """Return the values to draw a panel for: all, or twelve evenly spaced if there are more."""
    return evenly(sorted(values), MAX_VALUES)


def gallery(columns: int, width: float, sections: list[tuple[str, list[str]]]):
    """Return a figure of square panels in sections, and each section's run_ids with their axes.

    A row has ``columns`` panels; ``width`` is the side of one, in inches. ``sections`` are titles
    with run_ids. Raises NothingToDraw without runs.
    """
    sections = [(title, runs) for title, runs in sections if runs]
    require(sections)
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


def outcome(
    axes: Axes, summary: pd.DataFrame, x: str, name: str, colour, label: str | None = None
) -> None:
    """Draw the band of one outcome, from rows of the table ``outcome_summary``."""
    rows = summary[summary["outcome"] == name]
    columns = {"estimate": "y", "low": "y_low", "high": "y_high", "n_runs": "y_n"}
    band(axes, rows.rename(columns=columns), x, "y", colour, label)


def band(axes: Axes, rows: pd.DataFrame, x: str, y: str, colour, label: str | None = None) -> None:
    """Draw a line of estimates with dots and the band of their 95 % intervals.

    Estimates from two runs get no band: their intervals are so wide that it would only hide the
    dots. A point between such estimates gets a bar. Where all runs agree and have no interval, the
    band narrows to the line.
    """
    rows = rows.sort_values(x)
    has_band = rows[f"{y}_n"] > 2
    axes.plot(rows[x], rows[y], color=colour, marker="o", markersize=3, linewidth=1.2, label=label)
    low, high = (rows[f"{y}_{end}"].fillna(rows[y]) for end in ("low", "high"))
    axes.fill_between(rows[x], low, high, where=has_band, color=colour, alpha=0.2, linewidth=0)
    before, after = (has_band.shift(n, fill_value=False) for n in (1, -1))
    alone = has_band & ~before & ~after
    axes.vlines(rows[x][alone], low[alone], high[alone], color=colour, alpha=0.4)
