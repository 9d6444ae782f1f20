"""Ding et al., figure 14. Mean number of circles that survive, for prime and composite moduli."""

from matplotlib.figure import Figure

from circlet.collections.ding.figures import circles_by_size
from circlet.study.plan import Study

ROLES = ("moduli",)
TABLES = ("outcome_summary",)


def draw(study: Study) -> Figure:
    """Draw the mean number of circles against the modulus."""
    return circles_by_size.against(study, {"moduli": ("p", "modulus p, prime or not")}, 5.2)
