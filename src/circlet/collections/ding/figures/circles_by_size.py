"""Ding et al., figures 5 and 14. Mean number of circles that survive against the modulus, prime or
not, and the embedding dimension, with 95 % intervals.
"""

from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

OPTIONAL_ROLES = ("primes", "dimensions", "moduli")
TABLES = ("outcome_summary",)

_SWEPT = {
    "primes": ("p", "modulus p"),
    "dimensions": ("d", "embedding dimension d"),
    "moduli": ("p", "modulus p, prime or not"),
}


def draw(study: Study) -> Figure:
    """Draw a panel for each sweep that the study has."""
    shown = [role for role in _SWEPT if role in study.reproduce]
    figure, grid = panels.row(len(shown), 3.9 * len(shown), 3.1)
    for axes, role in zip(grid, shown, strict=True):
        parameter, label = _SWEPT[role]
        summary = parquet.read_table(study, "outcome_summary", role).query("outcome == 'n_circles'")
        panels.outcome(axes, summary, parameter, "n_circles", style.BLUE)
        axes.set_title(f"{summary['n_runs'].min()} runs per value")
        axes.set(xlabel=label, ylabel="number of circles", ylim=(0, None))
    return figure
