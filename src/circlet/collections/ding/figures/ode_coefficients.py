"""Ding et al., figures 9 d and 15. Coefficients of the Lasso fits of several runs: what the signal
of one frequency does to another's: grow (blue) or shrink (orange).
"""

from matplotlib.figure import Figure

from circlet.collections.ding import circle_panels
from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("trajectory",)
TABLES = ("ode_coefficients", "ode_fits")


def draw(study: Study) -> Figure:
    """Draw the map of coefficients of each run."""
    coefficients, fits = (
        parquet.read_table(study, name, "trajectory").query("method == 'lasso'") for name in TABLES
    )
    runs = list(coefficients["run_id"].unique())[:4]
    panels.require(runs, "no run with enough steps to fit")
    figure, grid = panels.row(len(runs), 3.4 * len(runs), 3.1)
    for axes, run_id in zip(grid, runs, strict=True):
        circle_panels.coefficient_map(figure, axes, coefficients[coefficients["run_id"] == run_id])
        fit = fits.set_index("run_id").loc[run_id]
        title = f"seed {fit['seed']}: {fit['nonzero']:.0%} not zero\n$R^2$ = {fit['r2']:.2f}"
        axes.set_title(title)
    return figure
