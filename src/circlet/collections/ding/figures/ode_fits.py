"""Ding et al., figure 9. How well linear differential equations describe the signals of the first
1000 steps: R² of one-step changes against dimension; the signals of a circle that dies and of one
that survives, with the rollouts of the fits; and the coefficients of a Lasso.
"""

import numpy as np
from matplotlib.figure import Figure

from circlet.collections.ding import circle_panels
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

OPTIONAL_ROLES = ("trajectory", "ode_dimensions")
TABLES = ("ode_summary",)
OPTIONAL_TABLES = ("ode_trajectories", "ode_coefficients")


def draw(study: Study) -> Figure:
    """R^2 against dimension; a dead and a surviving circle; coefficients of the Lasso."""
    figure = Figure(figsize=(9, 6.2))
    axes = figure.subplots(2, 2)
    role = "ode_dimensions" if "ode_dimensions" in study.reproduce else "trajectory"
    fits = parquet.read_table(study, "ode_summary", role).sort_values("d")
    panels.require(fits["n_runs"].sum(), "no run with enough steps to fit")
    for method, label, colour in (
        ("least_squares", "least squares", style.BLUE),
        ("lasso", "Lasso", style.ORANGE),
    ):
        panels.band(axes[0, 0], fits[fits["method"] == method], "d", "r2", colour, label)
    axes[0, 0].set(xlabel="embedding dimension d", ylabel="$R^2$ of one-step changes")
    axes[0, 0].set_title(f"{fits['n_runs'].min()} runs per d, bands: 95 % intervals")
    axes[0, 0].legend()
    if "trajectory" not in study.reproduce:
        for empty in (axes[0, 1], axes[1, 0], axes[1, 1]):
            panels.missing(empty, "the study has no trajectory")
        return figure
    lines = parquet.read_table(study, "ode_trajectories", "trajectory")
    coefficients = parquet.read_table(study, "ode_coefficients", "trajectory")
    run_id = lines["run_id"].iloc[0] if len(lines) else ""
    lines = lines[lines["run_id"] == run_id]
    for panel, alive in ((axes[0, 1], False), (axes[1, 0], True)):
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
    shown = coefficients[(coefficients["run_id"] == run_id) & (coefficients["method"] == "lasso")]
    if shown.empty:
        panels.missing(axes[1, 1], "too few steps to fit")
    else:
        circle_panels.coefficient_map(figure, axes[1, 1], shown)
        share = np.mean(shown.loc[shown["source"] > 0, "coefficient"] != 0)
        axes[1, 1].set_title(f"coefficients of the Lasso, {share:.0%} not zero")
    return figure
