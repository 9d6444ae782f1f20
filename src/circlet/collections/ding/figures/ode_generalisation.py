"""Errors of the fitted equations that a high R² of one-step changes does not show. Left: error of
the rollout from step 0, of every fit of every dimension; lost: 1000 times the mean signal or more.
Middle: R² and sparsity of the Lasso for many strengths. Right: its rollout error, and 1 − R² (0
would be perfect) on runs that it was not fitted to. Dotted: the strength of the paper.
"""

from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("trajectory",)
TABLES = ("ode_path", "ode_fits")


def draw(study: Study) -> Figure:
    """Rollout error of every fit; then R^2, sparsity and rollout error along the Lasso path."""
    fits = parquet.read_table(study, "ode_fits").query("status == 'fitted'")
    path = parquet.read_table(study, "ode_path", "trajectory")
    if fits.empty:
        return panels.nothing("no run with enough steps to fit")
    figure, (left, middle, right) = panels.row(3, 9.4, 3.3)
    worst = 1e3  # times the mean signal: a rollout with a larger error is lost
    for method, label, colour in (
        ("least_squares", "least squares", style.BLUE),
        ("lasso", "Lasso", style.ORANGE),
        ("quadratic", "quadratic", style.GREY),
    ):
        method_fits = fits[fits["method"] == method]
        relative = (method_fits["rollout_error"] / method_fits["mean_signal"]).clip(upper=worst)
        left.scatter(method_fits["r2"], relative, s=14, color=colour, alpha=0.6, lw=0,
                     label=label)  # fmt: skip
    left.axhline(worst, color=style.GREY, lw=0.8, ls=":")
    left.text(0.02, worst * 1.3, "lost", fontsize=7, color=style.GREY,
              transform=left.get_yaxis_transform())  # fmt: skip
    left.set(xlabel="$R^2$ of one-step changes", ylabel="rollout error / mean signal", yscale="log")
    left.set_ylim(top=4 * worst)
    left.set_title(f"{fits['run_id'].nunique()} runs, a dot per fit", fontsize=8)
    left.legend(fontsize=7)
    for _, run in path.groupby("run_id"):
        run = run.sort_values("alpha")
        middle.plot(run["alpha"], run["r2"], color=style.ORANGE, lw=1)
        middle.plot(run["alpha"], run["nonzero"], color=style.BLUE, lw=1)
        right.plot(run["alpha"], (run["rollout_error"] / run["mean_signal"]).clip(upper=worst),
                   color=style.ORANGE, lw=1)  # fmt: skip
        right.plot(run["alpha"], (1 - run["r2_heldout"]).clip(upper=1e6), color=style.GREY, lw=1)
    for axes in (middle, right):
        axes.axvline(0.01, color=style.GREY, lw=0.8, ls=":")
        axes.set(xscale="log", xlabel="strength $\\alpha$ of the Lasso")
    middle.plot([], [], color=style.ORANGE, label="$R^2$")
    middle.plot([], [], color=style.BLUE, label="share of coefficients not zero")
    right.plot([], [], color=style.ORANGE, label="rollout error / mean signal")
    right.plot([], [], color=style.GREY, label="$1 - R^2$ on other runs")
    right.set(yscale="log")
    middle.legend(fontsize=7)
    right.legend(fontsize=7)
    middle.set_title(f"{path['run_id'].nunique()} runs of the trajectory", fontsize=8)
    return figure
