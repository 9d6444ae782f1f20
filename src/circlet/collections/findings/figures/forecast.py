"""Area under the ROC curve of a forecast of survival from the signals up to a step: 0.5 is chance
(grey line), 1 a forecast without errors. The forecast is scored on runs whose embedding and network
were not used to fit it. Dotted lines: 0.9, 0.95 and 0.99. Bands are 95 % intervals from a bootstrap
over embeddings and networks.
"""

import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

OPTIONAL_ROLES = ("forecast", "decay_circles")
TABLES = ("forecast",)

_TITLES = {"forecast": "several runs per embedding", "decay_circles": "by weight decay"}


def draw(study: Study) -> Figure:
    """A panel per role; step 0 is drawn at the left end of the logarithmic axis."""
    roles = [role for role in _TITLES if role in study.reproduce]
    curves = {role: parquet.read_table(study, "forecast", role) for role in roles}
    shown = [role for role, curve in curves.items() if len(curve)]
    panels.require(shown, "fewer than three embeddings of which some circles survive")
    figure, grid = panels.row(len(shown), 4.3 * len(shown), 3.3)
    for axes, role in zip(grid, shown, strict=True):
        rows = curves[role]
        decays = sorted(rows["weight_decay"].unique())
        colours = sns.color_palette("viridis", len(decays)) if len(decays) > 1 else [style.BLUE]
        for decay, colour in zip(decays, colours, strict=True):
            line = rows[rows["weight_decay"] == decay]
            panels.band(axes, line.assign(step=line["step"].clip(lower=0.5)), "step", "auc",
                        colour, label=f"weight decay {decay:g}")  # fmt: skip
        for threshold in (0.9, 0.95, 0.99):
            axes.axhline(threshold, color=style.GREY, lw=0.6, ls=":")
        axes.axhline(0.5, color=style.GREY, lw=0.8)
        ticks = 10.0 ** np.arange(0, np.ceil(np.log10(rows["step"].max())) + 1)
        axes.set(xscale="log", xlabel="step up to which signals are known", ylim=(0.45, 1.01),
                 ylabel="AUC of predicted survival, on new runs")  # fmt: skip
        axes.set_xticks([0.5, *ticks], ["0", *(f"{tick:g}" for tick in ticks)])
        axes.minorticks_off()
        axes.set_title(f"{_TITLES[role]}: {rows['n_runs'].min()} runs")
        axes.legend(loc="center right")
    return figure
