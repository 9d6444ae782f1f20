"""Rows, axes, colours and numbers that plots of sweeps share."""

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study import plots
from circlet.study.plan import Study
from circlet.study.swept import Swept, swept, words
from circlet.systems.spec import Outcome

# Colours of numbers, from dark to light, without yellow, which is hard to see on white.
COLOURS = ListedColormap(mpl.colormaps["viridis"](np.linspace(0, 0.88, 256)))
WIDTH = 1.75  # of a label beside a y axis, in inches
MAX_LABELS = 12  # most values in a legend; more get a colour bar
NOT_REACHED = "not reached by the last step"


class Sweep:
    """The experiment of a plot: what it sweeps, and its rows of a table."""

    def __init__(self, study: Study):
        self.study = study
        (self.plot,) = plots.of(study)
        self.points = study.experiment(self.plot.experiment)
        self.swept = {parameter.name: parameter for parameter in swept(self.points)}
        self.outcomes = {
            outcome.name: outcome for outcome in study.outcomes(self.points[0].system.name)
        }
        self.shown = [self.outcomes[name] for name in self.plot.show if name in self.outcomes]

    def at(self, where: str) -> Swept | None:
        """Return the parameter at a place of the plot; None if there is none."""
        return self.swept.get(self.plot.place(where))

    @property
    def facets(self) -> list[Swept]:
        """Parameters with a panel for each value: none, one or two."""
        return [self.swept[name] for name in self.plot.places.get("facet", ())]

    def rows(self, name: str) -> pd.DataFrame:
        """Return the experiment's rows of a table, with indices of swept values as columns."""
        table = parquet.read_table(self.study, name)
        table = table[table["experiment"] == self.plot.experiment].reset_index(drop=True)
        if "run_id" in table:
            table["point"] = table["run_id"].str.split("/").str[1]
        if "point" not in table:
            return table
        for parameter in self.swept.values():
            table[parameter.name] = table["point"].map(parameter.places(self.points))
        return table

    def drawn(self, name: str) -> pd.DataFrame:
        """Return the rows of a table of runs or estimates; raises NothingToDraw if no run is."""
        rows = self.rows(name)
        panels.require(rows["n_runs"].any() if "n_runs" in rows else len(rows))
        return rows

    def panels(self, rows: pd.DataFrame) -> Iterator[tuple[int, int, str, pd.DataFrame]]:
        """Yield row, column, title and table rows of each panel, a value of the facets."""
        first, second = [*self.facets, None, None][:2]
        for j in range(len(first.values) if first else 1):
            for i in range(len(second.values) if second else 1):
                selected, title = rows, []
                for facet, k in ((first, j), (second, i)):
                    if facet:
                        selected = selected[selected[facet.name] == k]
                        title.append(f"{words(facet.name)} {facet.texts[k]}")
                yield i, j, ", ".join(title), selected


def shades(outcome: Outcome, values: np.ndarray) -> Normalize:
    """Return a mapping from values to colours, the same for all panels of an outcome."""
    lower, upper = outcome.bounds
    if np.isfinite(upper):
        return Normalize(lower, upper)
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    if outcome.kind == "time" and low > 0 and high / low > 10:
        return LogNorm(low, high)
    low = min(low, 0.0) if outcome.kind == "count" else low
    return Normalize(low, high if high > low else low + 1)


def wrapped(text: str, width: float) -> str:
    """Wrap a title or a label to a width in inches."""
    return textwrap.fill(text, max(12, int(72 * width / (0.56 * style.TITLE))))


def title(axes: Axes, text: str, width: float) -> None:
    """Set the title of a panel of a width in inches."""
    lines = [wrapped(line, width) for line in text.splitlines()]
    axes.set_title("\n".join(lines))


def explain(figure: Figure, marks: dict[str, Artist]) -> None:
    """Add a legend below the panels, with a text for each mark."""
    width, height = figure.get_size_inches()
    inches = 0.009 * style.LEGEND * max(map(len, marks)) + 0.45  # of an entry
    columns = max(1, min(len(marks), int(width / inches)))
    figure.set_figheight(height + 0.16 * -(-len(marks) // columns) + 0.1)
    figure.legend([*marks.values()], [*marks], loc="outside lower center", ncols=columns)


def center(outcomes: Iterable[Outcome]) -> str:
    """Return the names of estimates of outcomes: ``share, mean or median``."""
    kinds = [{"share": "share", "time": "median"}.get(outcome.kind, "mean") for outcome in outcomes]
    return plots.listed(list(dict.fromkeys(kinds)), "or")


def run_marks(colour: Any, runs: pd.DataFrame) -> dict[str, Artist]:
    """Return marks of runs: dots, and triangles if some of these did not reach a milestone."""
    look = {"color": colour, "ls": "none", "alpha": 0.6, "ms": 4, "mew": 0}
    marks: dict[str, Artist] = {"run": Line2D([], [], marker="o", **look)}
    if (runs["value"].isna() & runs["after"].notna()).any():
        marks[NOT_REACHED] = Line2D([], [], marker="^", **look)
    return marks


def estimate_marks(outcomes: Iterable[Outcome], colour: Any) -> dict[str, Artist]:
    """Return marks of estimates: a line with dots, and the band of their intervals."""
    line = Line2D([], [], color=colour, marker="o", ms=4)
    return {center(outcomes): line, "95 % interval": Patch(color=colour, alpha=0.2, lw=0)}


def dots(
    axes: Axes, at: Any, outcome: Outcome, runs: pd.DataFrame, flat: bool = False, **look: Any
) -> np.ndarray:
    """Draw values of runs at x, or if ``flat`` at y, as dots or triangles; return the values."""
    values = runs["value"].fillna(runs["after"]).to_numpy(float)
    if outcome.kind == "share":  # all dots are at 0 or 1
        values = values + 0.05 * ((runs["seed"].to_numpy() * 0.7548777) % 1 - 0.5)
    x, y = (values, at) if flat else (at, values)
    reached = runs["value"].notna().to_numpy()
    look = {"linewidths": 0, "rasterized": True} | look
    axes.scatter(x[reached], y[reached], **look)
    axes.scatter(x[~reached], y[~reached], marker="^", **look)
    if outcome.bounds[1] == 1:
        (axes.set_xlim if flat else axes.set_ylim)(-0.06, 1.06)
    return values


def estimates(
    axes: Axes, rows: pd.DataFrame, parameter: Swept, y: np.ndarray, colour: Any, label: str = ""
) -> None:
    """Draw estimates ``at`` values of a parameter, joined if it has numbers, and their intervals.

    Intervals without an upper end are drawn up to the highest dot (y).
    """
    rows = rows[rows["estimate"].notna()].sort_values("at")
    dashes, x = "none" if parameter.is_words else "-", rows["at"]
    axes.plot(x, rows["estimate"], color=colour, ls=dashes, marker="o", ms=4, label=label)
    low, high = (rows[end].to_numpy(float) for end in ("low", "high"))
    high = np.where(np.isnan(high) & ~np.isnan(low), max(y, default=1.0), high)
    if parameter.is_words:
        axes.vlines(x, low, high, color=colour, lw=1.5)
    else:
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)


def listed(rows: pd.DataFrame, shown: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Draw a column for each outcome, and a row for each ``name``: estimates and their intervals.

    An arrow marks an unknown end. ``rows`` have a ``colour``.
    """
    places = {name: -i for i, name in enumerate(dict.fromkeys(rows["name"]))}
    width, height = 2.4 * len(shown) + 3, 0.26 * len(places) + 0.9
    figure, grid = panels.row(len(shown), width, height, sharey=True)
    for axes, outcome in zip(grid, shown, strict=True):
        of_outcome = rows[rows["outcome"] == outcome]
        y, colours = of_outcome["name"].map(places), of_outcome["colour"].to_numpy()
        center, low, high = (
            of_outcome[k].to_numpy(float, copy=True) for k in ("estimate", "low", "high")
        )
        ends = np.array([0.0, *center, *low, *high])
        beyond = 0.15 * np.ptp(ends[np.isfinite(ends)]) or 1.0
        for end, other, to, mark in (
            (low, high, np.nanmin(ends) - beyond, "<"),
            (high, low, np.nanmax(ends) + beyond, ">"),
        ):
            is_open = np.isnan(end) & ~np.isnan(other)
            at = np.full(is_open.sum(), to)
            axes.scatter(at, y[is_open], c=colours[is_open], s=18, marker=mark)
            end[is_open] = to
        axes.hlines(y, low, high, colors=colours, lw=1.4)
        axes.scatter(center, y, c=colours, s=18, zorder=2)
        title(axes, of_outcome["label"].iloc[0] if len(of_outcome) else words(outcome), 2.3)
    grid[0].set_yticks(list(places.values()), list(places), fontsize=7)
    grid[0].set_ylim(0.5 - len(places), 0.5)
    return figure, grid


def positions(parameter: Swept) -> np.ndarray:
    """Return the positions of a parameter's values along an axis."""
    n = len(parameter.values)
    return np.arange(n) if parameter.is_words else np.array(parameter.values, dtype=float)


def scale(axes: Axes, parameter: Swept) -> None:
    """Set the label, scale, limits and ticks of the x axis for a parameter."""
    axes.set_xlabel(words(parameter.name))
    where = positions(parameter)
    if parameter.is_words:
        axes.set_xlim(-0.5, len(parameter.values) - 0.5)
    elif parameter.is_log:
        axes.set_xscale("log")
        margin = (where[-1] / where[0]) ** 0.08
        axes.set_xlim(where[0] / margin, where[-1] * margin)
    else:
        reach = 0.08 * (where[-1] - where[0])
        axes.set_xlim(where[0] - reach, where[-1] + reach)
    ticks(axes.xaxis, parameter)


def _apart(parameter: Swept, side_by_side: bool) -> list[str]:
    """Return texts of values; empty where one would touch the text before, on a two-inch axis."""
    where = np.log(positions(parameter)) if parameter.is_log else positions(parameter)
    where = (where - where[0]) / (where[-1] - where[0])
    texts, last = [parameter.texts[0]], 0
    for i, text in enumerate(parameter.texts[1:], 1):
        width = (len(text) + len(parameter.texts[last])) / 2
        fits = where[i] - where[last] > (0.035 * width + 0.02 if side_by_side else 0.09)
        texts.append(text if fits else "")
        last = i if fits else last
    return texts


def ticks(axis: Axis, parameter: Swept) -> None:
    """Set ticks at the values of a parameter if there are few, else at round numbers."""
    if parameter.is_words:
        axis.set_ticks(positions(parameter), parameter.texts)
    elif len(parameter.values) <= 6:
        axis.set_ticks(positions(parameter), _apart(parameter, axis.axis_name == "x"))
    elif parameter.is_log:
        decades = math.log10(parameter.values[-1] / parameter.values[0])
        axis.set_major_locator(LogLocator(subs=(1.0,) if decades > 2 else (1.0, 3.0)))
        axis.set_major_formatter(lambda x, _: f"{x:g}")
    axis.set_minor_locator(NullLocator())


def colours(parameter: Swept | None) -> list[Any]:
    """Return a colour for each value: of numbers from dark to light, of words distinct."""
    if parameter is None:
        return [style.BLUE]
    n = len(parameter.values)
    if parameter.is_words:
        return style.labels(n)
    return list(
        COLOURS(np.linspace(0, 1, n) if n <= MAX_LABELS else norm(parameter)(parameter.values))
    )


def norm(parameter: Swept) -> Normalize:
    """Return a mapping from many values of a parameter to `COLOURS`."""
    return (LogNorm if parameter.is_log else Normalize)(parameter.values[0], parameter.values[-1])


def decimals(outcome: Outcome, values: pd.Series) -> int:
    """Return how many decimals all numbers of an outcome have in a plot."""
    if np.isfinite(outcome.bounds[1]):
        return 2
    largest = values.abs().max()
    return 0 if outcome.kind == "time" or largest >= 100 else 1 if largest >= 1 else 3
