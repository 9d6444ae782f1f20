"""Ding et al., figure 15. Coefficients of the Lasso fits of several runs: what the signal of one
frequency does to another's.
"""

from matplotlib.figure import Figure

from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("trajectory",)
TABLES = ("ode_coefficients", "ode_fits")

_MOST = 4


def draw(study: Study) -> Figure:
    """A map per run: which frequency's signal moves which."""
    coefficients = parquet.read_table(study, "ode_coefficients", "trajectory").query(
        "method == 'lasso'"
    )
    runs = list(coefficients["run_id"].unique())[:_MOST]
    if not runs:
        return panels.nothing("no run with enough steps to fit")
    fits = parquet.read_table(study, "ode_fits", "trajectory").query("method == 'lasso'")
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
