"""Number of circles against modulus and embedding dimension (Ding et al., figure 5)."""

from matplotlib.figure import Figure

from circlet import io
from circlet.figures import panels
from circlet.plan import Study

OPTIONAL_ROLES = ("primes", "dimensions")
TABLES = ("circle_summary",)

SWEPT = {"primes": ("p", "modulus p"), "dimensions": ("d", "embedding dimension d")}


def draw(study: Study) -> Figure:
    """Means over runs with their 95 % intervals."""
    shown = [role for role in SWEPT if role in study.reproduce]
    figure = Figure(figsize=(3.9 * len(shown), 3.1))
    for axes, role in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        panels.circles_against(axes, io.read_table(study, "circle_summary", role), *SWEPT[role])
    return figure
