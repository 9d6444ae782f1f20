"""Mean number of circles against the modulus, with 95 % intervals and least-squares lines in p, √p
and ln p, fitted to the moduli up to d. The legend gives the root mean square error at a modulus
that is left out of the fit.
"""

import numpy as np
from matplotlib.figure import Figure

from circlet.analysis import stats
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("circle_growth",)
TABLES = ("circle_counts", "circle_growth")

_LINES = {
    "constant": ("no growth", style.GREY),
    "linear": ("line in p", style.GREEN),
    "square_root": ("line in √p", "black"),
    "logarithmic": ("line in ln p", style.ORANGE),
}


def draw(study: Study) -> Figure:
    """Draw mean circle counts against the modulus, with the fitted lines."""
    counts = parquet.read_table(study, "circle_counts", "circle_growth")
    models = parquet.read_table(study, "circle_growth", "circle_growth")
    if models.empty:
        return panels.nothing("fewer than four moduli")
    figure, (axes,) = panels.row(1, 4.6, 3.4)
    for p, rows in counts.groupby("p"):
        estimate = stats.mean_count(rows["n_circles"])
        axes.plot([p, p], [estimate.low, estimate.high], color=style.BLUE, lw=1)
        axes.plot(p, estimate.value, "o", color=style.BLUE, ms=4)
    fitted = counts.loc[counts["p"] <= counts["d"], "p"]
    x = np.linspace(fitted.min(), fitted.max(), 200)
    for row in models.itertuples():
        text, colour = _LINES[row.model]
        slope = 0.0 if row.model == "constant" else row.slope
        transform = {"square_root": np.sqrt, "logarithmic": np.log}.get(row.model, np.asarray)
        y = row.intercept + slope * transform(x)
        axes.plot(x, y, color=colour, lw=1, label=f"{text}: {row.error_left_out:.2g}")
    axes.set(xlabel="modulus p", ylabel="circles", ylim=(0, None))
    axes.legend(fontsize=7, title="model: error", title_fontsize=7)
    axes.set_title(f"{len(counts)} runs; lines are fitted up to p = d", fontsize=8)
    return figure
