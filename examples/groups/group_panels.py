"""Shared parts of the figures: titles of panels, and a colour per dimension."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from circlet.plotting import style

COLUMNS = 3  # panels side by side


def titles(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return titles by experiment and point: the group if it is unique, else "experiment/point"."""
    points = rows[["experiment", "point", "group"]].drop_duplicates()
    unique = not points["group"].duplicated().any()
    return {
        (p.experiment, p.point): p.group if unique else f"{p.experiment}/{p.point}"
        for p in points.itertuples()
    }


def colours(dimensions: pd.Series) -> dict[int, tuple]:
    """A colour for each dimension of a representation."""
    every = sorted(dimensions.unique())
    return dict(zip(every, style.labels(len(every)), strict=True))


def legend(figure: Figure, handles: list[Line2D]) -> None:
    """A legend below all panels, in as many rows as the figure's width needs."""
    columns = min(len(handles), int(figure.get_figwidth() / 1.5))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=8)
