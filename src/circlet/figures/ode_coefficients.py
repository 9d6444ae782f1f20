"""Coefficients of the Lasso fits of several runs (Ding et al., figure 15)."""

from matplotlib.figure import Figure

from circlet import io
from circlet.figures import panels
from circlet.plan import Study

ROLES = ("trajectory",)
TABLES = ("ode_coefficients", "ode_fits")

MOST = 4


def draw(study: Study) -> Figure:
    """A map per run: which frequency's signal moves which."""
    coefficients = io.read_table(study, "ode_coefficients", "trajectory").query("method == 'lasso'")
    runs = list(coefficients["run_id"].unique())[:MOST]
    if not runs:
        return panels.nothing("no run with enough steps to fit")
    fits = io.read_table(study, "ode_fits", "trajectory").query("method == 'lasso'")
    fits = fits.set_index("run_id")
    figure = Figure(figsize=(3.4 * len(runs), 3.1))
    for axes, run_id in zip(figure.subplots(1, len(runs), squeeze=False)[0], runs, strict=True):
        panels.coefficient_map(figure, axes, coefficients[coefficients["run_id"] == run_id])
        fit = fits.loc[run_id]
        axes.set_title(
            f"seed {fit['seed']}: {fit['nonzero']:.0%} not zero\n$R^2$ = {fit['r2']:.2f}",
            fontsize=8,
        )
    return figure
