"""Ding et al., figure 14. Mean number of circles that survive, for moduli that are prime or not."""

from matplotlib.figure import Figure

from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("moduli",)
TABLES = ("circle_summary",)


def draw(study: Study) -> Figure:
    """Means over runs with their 95 % intervals."""
    figure = Figure(figsize=(5.2, 3.1))
    summary = parquet.read_table(study, "circle_summary", "moduli")
    panels.circles_against(figure.subplots(), summary, "p", "modulus p, prime or not")
    return figure
