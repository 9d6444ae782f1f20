"""Ding et al., figure 3. The trained embedding in pairs of its first ten principal components (top)
and in the Fourier planes of its strongest frequencies (bottom). Lines join numbers that differ by
Δ: on a circle of frequency k neighbours differ by 1/k mod p.
"""

from matplotlib.figure import Figure

from circlet.collections.ding import circle_panels
from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("trajectory",)
TABLES = ("projections",)

_PER_ROW = 5


def draw(study: Study) -> Figure:
    """Top: pairs of principal components; bottom: the frequencies with the largest signals."""
    views = parquet.read_table(study, "projections", "trajectory")
    panels.require(len(views))
    views = views[(views["step"] == views["step"].max()) & (views["rank"] < _PER_ROW)]
    figure = Figure(figsize=(1.75 * _PER_ROW, 4.1))
    grid = figure.subplots(2, _PER_ROW, squeeze=False)
    for row, view in zip(grid, ("pca", "fourier"), strict=True):
        planes = views[views["view"] == view]
        for rank, axes in enumerate(row):
            plane = planes[planes["rank"] == rank]
            if plane.empty:
                axes.axis("off")
                continue
            # On a circle, numbers that differ by this step are neighbours.
            delta = plane["delta"].iloc[0]
            step = None if view == "pca" or delta != delta else int(delta)
            step = circle_panels.plane(axes, plane, step=step)
            index = plane["index"].iloc[0]
            name = f"components {index + 1}, {index + 2}" if view == "pca" else f"k = {index}"
            axes.set_title(f"{name}, $\\Delta$ = {step}")
            panels.plays(axes, plane["run_id"].iloc[0], plane["step"].iloc[0])
    return figure
