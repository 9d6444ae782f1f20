"""Ding et al., figure 5. Mean number of circles that survive against the modulus (left) and the
embedding dimension (right).
"""

from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

OPTIONAL_ROLES = ("primes", "dimensions")
TABLES = ("outcome_summary",)


def against(study: Study, swept: dict[str, tuple[str, str]], width: float) -> Figure:
    """Draw means over runs with 95 % intervals; ``swept`` has a parameter and its label by role."""
    shown = [role for role in swept if role in study.reproduce]
    figure, grid = panels.row(len(shown), width * len(shown), 3.1)
    for axes, role in zip(grid, shown, strict=True):
        parameter, label = swept[role]
        summary = parquet.read_table(study, "outcome_summary", role).query("outcome == 'n_circles'")
        panels.outcome(axes, summary, parameter, "n_circles", style.BLUE)
        axes.set_title(f"{summary['n_runs'].min()} runs per value, 95 % intervals")
        axes.set(xlabel=label, ylabel="number of circles", ylim=(0, None))
    return figure


def draw(study: Study) -> Figure:
    """Draw the mean number of circles against the modulus and the dimension."""
    swept = {"primes": ("p", "modulus p"), "dimensions": ("d", "embedding dimension d")}
    return against(study, swept, 3.9)
