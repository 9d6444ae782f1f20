"""Survival rate of a frequency against its initial signal; Ding et al., figure 6, with the parts
that the study has. Each dot is a frequency of an embedding. The r above is that of these rates,
each from few runs; verdicts are about rates of 50 runs. Further panels: one frequency is scaled at
initialisation, or the embedding is constructed from two frequencies.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.formatting import interval, number
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

OPTIONAL_ROLES = ("initial_signals", "perturbation", "construction")
TABLES = ()
OPTIONAL_TABLES = ("survival_rates", "perturbed_rates", "constructed_rates", "ding_claims")


def unscaled(axes: Axes, rates: pd.DataFrame, study: Study) -> None:
    """Draw survival rates against initial signals: a dot per embedding and frequency; line, r."""
    axes.scatter(rates["initial_signal"], rates["rate"], s=9, color=style.BLUE, alpha=0.5, lw=0)
    n = int(rates["n_runs"].min())
    title = f"{rates['embedding_seed'].nunique()} embeddings, {n} run{'s'[: n > 1]} each"
    if np.ptp(rates["initial_signal"]) and np.ptp(rates["rate"]):
        slope, offset = np.polyfit(rates["initial_signal"], rates["rate"], 1)
        ends = np.array([rates["initial_signal"].min(), rates["initial_signal"].max()])
        axes.plot(ends, offset + slope * ends, color=style.ORANGE)
        claims = parquet.read_table(study, "ding_claims").set_index("claim")
        if "signal_correlation" in claims.index:
            r = claims.loc["signal_correlation"]
            title += f"\nr of the dots = {number(r.effect)} {interval(r.effect_low, r.effect_high)}"
    axes.set(xlabel="initial signal", ylabel="survival rate", ylim=(-0.04, 1.04))
    axes.set_title(title)


def scaled(axes: Axes, rates: pd.DataFrame, _: Study) -> None:
    """Draw survival rates of scaled frequencies against the factor: a line per embedding."""
    n, is_many = int(rates["n_runs"].min()), rates["embedding_seed"].nunique() > 4
    for seed, line in rates.groupby("embedding_seed"):
        line = line.sort_values("deviation")
        spread = np.abs(line[["rate_low", "rate_high"]].T.to_numpy() - line["rate"].to_numpy())
        axes.errorbar(
            line["deviation"], line["rate"], yerr=spread if n > 1 else None,
            marker="o", markersize=3, linewidth=1, elinewidth=0.5, label=f"embedding {seed}",
            **({"color": style.BLUE, "alpha": 0.5} if is_many else {}),
        )  # fmt: skip
    axes.axvline(0, color=style.GREY, linewidth=0.8, linestyle=":")
    if not is_many:
        axes.legend(loc="upper left")
    k = ", ".join(map(str, sorted(rates["frequency"].unique())))
    axes.set_title(f"signal of k = {k} scaled\n{n} run{'s'[: n > 1]} per dot")
    axes.set(xlabel="signal - mean of the others", ylabel="its survival rate", ylim=(-0.04, 1.04))


def constructed(axes: Axes, rates: pd.DataFrame, _: Study) -> None:
    """Draw survival rates of the first, the second and any other frequency against the ratio."""
    colours = {"first": style.ORANGE, "second": style.BLUE, "revived": style.GREY}
    for name, colour in colours.items():
        label = "any other" if name == "revived" else name
        ends = rates[[f"{name}_low", f"{name}_high"]].T.to_numpy()
        # Shifted sideways, because the three rates are often equal.
        x = rates["ratio"] + 0.012 * (list(colours).index(name) - 1)
        spread = np.abs(ends - rates[name].to_numpy())
        axes.errorbar(x, rates[name], yerr=spread, color=colour, marker="o", markersize=3,
                      linewidth=1, elinewidth=0.6, label=label)  # fmt: skip
    axes.legend(framealpha=0.7)
    axes.set_title(f"two constructed frequencies\n{rates['n_runs'].min()} runs per ratio")
    axes.set(xlabel="ratio r of the signals", ylabel="survival rate", ylim=(-0.04, 1.04))


def draw(study: Study) -> Figure:
    """Draw a panel for each part that the study has."""
    parts = {
        "initial_signals": ("survival_rates", unscaled),
        "perturbation": ("perturbed_rates", scaled),
        "construction": ("constructed_rates", constructed),
    }
    shown = [role for role in parts if role in study.reproduce]
    figure, grid = panels.row(len(shown), 3.1 * len(shown), 3.2)
    for axes, role in zip(grid, shown, strict=True):
        table, part = parts[role]
        rates = parquet.read_table(study, table)
        if rates.empty:
            panels.missing(axes, "no finished run")
        else:
            part(axes, rates, study)
    return figure
