"""Panels of circles: their signals, their planes, and the linear equations of their growth."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.plotting import panels, style


def by_survival(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    """Draw a line per frequency of one run over steps: survivors in colour, the others grey."""
    for _, line in rows[~rows["survived"]].groupby("frequency"):
        axes.plot(line["step"], line[column], color="0.75", linewidth=0.6)
    survivors = rows[rows["survived"]].groupby("frequency")
    colours = style.classes(len(survivors), lightness=0.42)
    for (k, line), colour in zip(survivors, colours, strict=True):
        axes.plot(line["step"], line[column], color=colour, linewidth=1.3, label=f"k = {k}")
    if len(survivors):
        axes.legend()


def plane(
    axes: Axes, points: pd.DataFrame, step: int | None = None, reach: float | None = None
) -> int:
    """Draw numbers at their coordinates, joined in steps of ``step``; return that step."""
    points = points.sort_values("token")
    xy = points[["x", "y"]].to_numpy()
    p = len(xy)
    step = step or panels.best_step(xy)
    loop = xy[(np.arange(p + 1) * step) % p]
    axes.plot(*loop.T, color="0.8", linewidth=0.5, zorder=1)
    axes.scatter(*xy.T, c=style.classes(p, lightness=0.42), s=9, zorder=2, linewidths=0)
    panels.square(axes, reach or 1.15 * np.abs(xy).max())
    return step


def ode_lines(axes: Axes, lines: pd.DataFrame) -> None:
    """Draw the signal of one frequency, and the rollouts of its fits."""
    top = 2 * lines["signal"].max()
    for column, colour, dashes, label in (
        ("signal", "black", "-", "signal"),
        ("least_squares", style.BLUE, "--", "least squares"),
        ("lasso", style.ORANGE, "--", "Lasso"),
        ("analytic", style.GREEN, ":", "Lasso, analytic"),
    ):
        values = lines[column].clip(-top, top)
        axes.plot(lines["step"], values, color=colour, ls=dashes, lw=1.2, label=label)


def coefficient_map(figure: Figure, axes: Axes, coefficients: pd.DataFrame) -> None:
    """Draw the matrix A of one run without the constants: targets down, sources across."""
    matrix = coefficients[coefficients["source"] > 0].pivot(
        index="target", columns="source", values="coefficient"
    )
    reach = float(np.abs(matrix.to_numpy()).max()) or 1.0
    n = len(matrix)
    image = axes.imshow(
        matrix, cmap=style.DIVERGING, vmin=-reach, vmax=reach,
        extent=(0.5, n + 0.5, n + 0.5, 0.5),
    )  # fmt: skip
    figure.colorbar(image, ax=axes, shrink=0.85, label="change per step")
    axes.set(xlabel="source frequency", ylabel="target frequency")
