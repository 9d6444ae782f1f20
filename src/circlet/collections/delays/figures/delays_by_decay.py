"""Median time to grok (filled) and delay after memorising (hollow) against weight decay, with 95 %
intervals: a panel per network, a colour per learning rate. Lines: powers of the weight decay from
regressions with censored runs; the legend gives their exponents for time and delay. Medians of
settings at which fewer than half of the runs grok are not shown.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

OPTIONAL_ROLES = ("mlp_decays", "gelu_decays", "transformer_decays")
TABLES = ("grokked_shares", "decay_exponents")

_KINDS = {"grok": ("median", "-", True), "delay": ("median_delay", "--", False)}


def draw(study: Study) -> Figure:
    """Draw a panel per network, of its smallest modulus with most settings."""
    medians = parquet.read_table(study, "grokked_shares")
    fits = parquet.read_table(study, "decay_exponents").query("by == 'weight_decay'")
    panels.require(np.isfinite(medians["median"].astype(float)).any(), "no run has grokked")
    systems = medians["system"].unique()
    figure, axes = panels.row(len(systems), 3.2 * len(systems), 3.6)
    for panel, system in zip(axes, systems, strict=True):
        rows = medians[medians["system"] == system]
        p = rows["p"].value_counts().index[0]
        _panel(panel, rows[rows["p"] == p], fits[(fits["system"] == system) & (fits["p"] == p)])
        panel.set(title=f"{system}, p = {p}", xlabel="weight decay", xscale="log", yscale="log")
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.xaxis.set_minor_formatter(NullFormatter())
    axes[0].set(ylabel="steps")
    return figure


def _panel(axes: Axes, medians: pd.DataFrame, fits: pd.DataFrame) -> None:
    colours = (style.BLUE, style.ORANGE, style.GREEN, style.PINK, style.YELLOW, style.GREY)
    for colour, (rate, rows) in zip(colours, medians.groupby("learning_rate"), strict=False):
        exponents = []
        for time, (name, line, is_filled) in _KINDS.items():
            seen = rows[np.isfinite(rows[name].astype(float))]
            high = seen[f"{name}_high"].clip(upper=1e9)
            axes.vlines(seen["weight_decay"], seen[f"{name}_low"].clip(lower=1), high,
                        color=colour, lw=0.8)  # fmt: skip
            axes.plot(seen["weight_decay"], seen[name], "o", color=colour, ms=4,
                      mfc=colour if is_filled else "white")  # fmt: skip
            fit = fits[(fits["learning_rate"] == rate) & (fits["time"] == time)]
            if len(fit):
                x = np.geomspace(rows["weight_decay"].min(), rows["weight_decay"].max(), 50)
                axes.plot(x, fit["constant"].iloc[0] * x ** -fit["exponent"].iloc[0], line,
                          color=colour, lw=1)  # fmt: skip
                exponents.append(f"{fit['exponent'].iloc[0]:.2f}")
        label = f"rate {rate:g}" + (f": {', '.join(exponents)}" if exponents else "")
        axes.plot([], [], "o", color=colour, ms=4, label=label)
    values = medians[["median", "median_delay"]].astype(float).to_numpy()
    values = values[np.isfinite(values) & (values > 0)]
    if len(values):
        axes.set_ylim(values.min() / 2, values.max() * 3)
    axes.legend()
