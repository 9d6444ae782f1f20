"""Number of circles against every modulus, prime or not (Ding et al., figure 14)."""

from matplotlib.figure import Figure

from circlet import io
from circlet.figures import panels
from circlet.plan import Study

ROLES = ("moduli",)
TABLES = ("circle_summary",)


def draw(study: Study) -> Figure:
    """Means over runs with their 95 % intervals."""
    figure = Figure(figsize=(5.2, 3.1))
    summary = io.read_table(study, "circle_summary", "moduli")
    panels.circles_against(figure.subplots(), summary, "p", "modulus p, prime or not")
    return figure
