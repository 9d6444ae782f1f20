"""Ding et al., figure 5. Mean number of circles that survive against the modulus (left) and the
embedding dimension (right).
"""

from matplotlib.figure import Figure

from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

OPTIONAL_ROLES = ("primes", "dimensions")
TABLES = ("circle_summary",)

_SWEPT = {"primes": ("p", "modulus p"), "dimensions": ("d", "embedding dimension d")}


def draw(study: Study) -> Figure:
    """Means over runs with their 95 % intervals."""
    shown = [role for role in _SWEPT if role in study.reproduce]
    figure = Figure(figsize=(3.9 * len(shown), 3.1))
    for axes, role in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        panels.circles_against(
            axes, parquet.read_table(study, "circle_summary", role), *_SWEPT[role]
        )
    return figure
