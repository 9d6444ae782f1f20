"""Particles that move under clustering and alignment forces alone form the same structures: a
circle, a grid and an imperfect grid; Mușat, figure 5. Chosen by the rules for networks, except
that the grid is the run with the fewest imperfections, as particles have no accuracy.
"""

from matplotlib.figure import Figure

from circlet.collections.musat import structure_panels
from circlet.plotting import panels
from circlet.study.plan import Study

ROLES = ("table2",)
TABLES = ("exemplars", "embeddings")


def draw(study: Study) -> Figure:
    """The exemplary circle, grid and imperfect grid of the particles."""
    figure, grid = panels.row(3, 9.3, 3.5)
    structures = ("circle", "grid", "imperfect_grid")
    structure_panels.exemplars(study, "table2", dict(zip(structures, grid, strict=True)))
    return figure
