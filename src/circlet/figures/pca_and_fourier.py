"""Principal components beside Fourier planes of a trained embedding (Ding et al., figure 3)."""

from matplotlib.figure import Figure

from circlet import io
from circlet.figures import panels
from circlet.plan import Study

ROLES = ("trajectory",)
TABLES = ("projections",)

COLUMNS = 5


def draw(study: Study) -> Figure:
    """Top: pairs of principal components; bottom: the frequencies with the largest signals."""
    views = io.read_table(study, "projections", "trajectory")
    if views.empty:
        return panels.nothing("no finished run to draw")
    views = views[(views["step"] == views["step"].max()) & (views["rank"] < COLUMNS)]
    figure = Figure(figsize=(1.75 * COLUMNS, 4.1))
    grid = figure.subplots(2, COLUMNS, squeeze=False)
    for row, view in zip(grid, ("pca", "fourier"), strict=True):
        here = views[views["view"] == view]
        for rank, axes in enumerate(row):
            plane = here[here["rank"] == rank]
            if plane.empty:
                axes.axis("off")
                continue
            # A step that joins neighbours: on a circle the lines follow it round.
            delta = plane["delta"].iloc[0]
            step = None if view == "pca" or delta != delta else int(delta)
            step = panels.circle_plane(axes, plane, step=step)
            index = plane["index"].iloc[0]
            name = f"components {index + 1}, {index + 2}" if view == "pca" else f"k = {index}"
            axes.set_title(f"{name}, $\\Delta$ = {step}", fontsize=8)
    return figure
