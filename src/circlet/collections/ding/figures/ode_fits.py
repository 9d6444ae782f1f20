"""Ding et al., figure 9. How well linear differential equations describe the signals of the first
1000 steps: R² of one-step changes against dimension; the signals of a circle that dies and of one
that survives, with the rollouts of the fits.
"""

from matplotlib.figure import Figure

from circlet.collections.ding import circle_panels
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

OPTIONAL_ROLES = ("trajectory", "ode_dimensions")
TABLES = ("ode_summary",)
OPTIONAL_TABLES = ("ode_trajectories",)


def draw(study: Study) -> Figure:
    """R^2 against dimension; a dead and a surviving circle."""
    figure, (first, *others) = panels.row(3, 10.5, 3.2)
    role = "ode_dimensions" if "ode_dimensions" in study.reproduce else "trajectory"
    fits = parquet.read_table(study, "ode_summary", role).sort_values("d")
    panels.require(fits["n_runs"].sum(), "no run with enough steps to fit")
    for method, label, colour in (
        ("least_squares", "least squares", style.BLUE),
        ("lasso", "Lasso", style.ORANGE),
    ):
        panels.band(first, fits[fits["method"] == method], "d", "r2", colour, label)
    first.set(xlabel="embedding dimension d", ylabel="$R^2$ of one-step changes")
    first.set_title(f"{fits['n_runs'].min()} runs per d, bands: 95 % intervals")
    first.legend()
    if "trajectory" not in study.reproduce:
        for empty in others:
            panels.missing(empty, "the study has no trajectory")
        return figure
    lines = parquet.read_table(study, "ode_trajectories", "trajectory")
    lines = lines[lines["run_id"] == lines["run_id"].min()]
    for panel, alive in zip(others, (False, True), strict=True):
        kind = "survives" if alive else "dies"
        circles = lines[lines["survived"] == alive]
        if circles.empty:
            panels.missing(panel, f"no circle {kind}, or too few steps to fit")
            continue
        k = circles.loc[circles[circles["step"] == 0]["signal"].idxmax(), "frequency"]
        circle_panels.ode_lines(panel, circles[circles["frequency"] == k])
        panel.set_title(f"k = {k}, {kind}")
        panel.set(xlabel="step", ylabel="signal")
        panel.legend()
    return figure
