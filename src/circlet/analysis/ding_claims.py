"""Table ``ding_claims``: what Ding et al. claim, as effects that are positive if the claim holds.

A few are values of the paper, which the scorecard compares by ``data/published.csv``; the others
are claims in words. Where the words leave a bar open ("close to 1", "near zero"), the bar was set
beforehand and is named in the claim's statement. Intervals are over runs, at 95 %.
"""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from circlet import io
from circlet.analysis import stats
from circlet.analysis.stats import Estimate
from circlet.plan import Study

OPTIONAL_ROLES = (
    "trajectory",
    "frozen",
    "primes",
    "dimensions",
    "initial_signals",
    "perturbation",
    "construction",
    "initial_gradients",
    "ode_dimensions",
    "decay_circles",
    "ablated_starts",
    "random_starts",
    "moduli",
)
TABLES = ("survival", "circle_counts")
OPTIONAL_TABLES = (
    "circle_ablations",
    "losses",
    "ode_fits",
    "survival_rates",
    "trajectories",
)

PUBLISHED_TRIALS = 50  # runs per embedding behind a survival rate of figure 6 left


def shifted(estimate: Estimate, bar: float, sign: int = 1) -> Estimate:
    """By how much an estimate lies above a bar, or with sign -1 below it."""
    value, low, high, n = estimate
    ends = sorted((sign * (low - bar), sign * (high - bar)))
    return Estimate(sign * (value - bar), *ends, n)


def within(estimate: Estimate, least: float, most: float) -> Estimate:
    """By how much a mean lies inside a range; negative outside of it."""

    def inside(value: float) -> float:
        return min(value - least, most - value)

    value, low, high, n = estimate
    middle = min(max((least + most) / 2, low), high)
    return Estimate(inside(value), min(inside(low), inside(high)), inside(middle), n)


def correlated(frame: pd.DataFrame, x: str, y: str) -> Estimate:
    """Pearson r over runs."""
    return stats.correlation(frame[x].to_numpy(float), frame[y].to_numpy(float))


def signal_correlation(rates: pd.DataFrame, trials: int | None = None) -> Estimate:
    """Pearson r of survival rate and initial signal, over embeddings and frequencies.

    A rate from few runs is noisy, which weakens r. With ``trials``, r is what it would be with so
    many runs per embedding: the variance that is binomial noise is taken out and that of so many
    runs put in.
    """
    raw = correlated(rates, "initial_signal", "rate")
    if trials is None or math.isnan(raw.high):
        return raw
    rate, n = rates["rate"].to_numpy(float), rates["rate_n"].to_numpy(float)
    if n.min() < 2:
        return Estimate(n=raw.n)
    total = rate.var(ddof=1)
    noise = (rate * (1 - rate) / (n - 1)).mean()  # unbiased for p (1 - p) / n
    signal = total - noise
    if signal <= 0:
        return Estimate(n=raw.n)
    scale = math.sqrt(total / (signal + (noise * n.mean()) / trials))
    return Estimate(*(min(1.0, scale * value) for value in raw[:3]), raw.n)


def line_at(rates: pd.DataFrame, x0: float) -> Estimate:
    """Survival rate at an initial signal, on the line of least squares of figure 6 left."""
    x, y = rates["initial_signal"].to_numpy(float), rates["rate"].to_numpy(float)
    n = len(x)
    if n < 3 or np.ptp(x) == 0:
        return Estimate(n=n)
    slope, offset = np.polyfit(x, y, 1)
    spread = math.sqrt(((y - offset - slope * x) ** 2).sum() / (n - 2))
    error = spread * math.sqrt(1 / n + (x0 - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
    value, half = float(offset + slope * x0), stats.student(n - 1) * error
    return Estimate(value, value - half, value + half, n)


def run_auc(survival: pd.DataFrame, column: str) -> Estimate:
    """Mean over runs of the area under the ROC curve of survival against a column."""
    found = [
        roc_auc_score(run["survived"], run[column])
        for _, run in survival.dropna(subset=[column]).groupby("run_id")
        if 0 < run["survived"].sum() < len(run)
    ]
    return stats.mean(np.array(found))


def dip_at_p(losses: pd.DataFrame) -> Estimate:
    """Final loss of dimensions below p minus that of those from p on, up to half of p away."""
    last = losses[losses["step"] == losses["step"].max()]
    near = last[(last["d"] - last["p"]).abs() <= last["p"] / 2]
    below = near["d"] < near["p"]
    parts = (near.loc[kind, "test_loss"].to_numpy(float) for kind in (below, ~below))
    return stats.mean_difference(*parts)


def double_descent(losses: pd.DataFrame) -> Estimate:
    """Loss of dimensions between 20 and p minus that of those up to 20, at step 10 000."""
    last = losses[losses["step"] == 10_000]
    middle = last[(last["d"] > 20) & (last["d"] < last["p"])]["test_loss"].to_numpy(float)
    return stats.mean_difference(middle, last[last["d"] <= 20]["test_loss"].to_numpy(float))


def scaled(survival: pd.DataFrame, above: bool) -> Estimate:
    """Survival of the scaled frequency at its largest (or least) factor, against the others'.

    Above: minus a half. Below: the share of the other frequencies minus its own.
    """
    chosen = survival["scale_factor"].max() if above else survival["scale_factor"].min()
    here = survival[survival["scale_factor"] == chosen]
    own = here["frequency"] == here["scale_frequency"]
    mine, others = here.loc[own, "survived"], here.loc[~own, "survived"]
    if above:
        return shifted(stats.share(int(mine.sum()), len(mine)), 0.5)
    return stats.share_difference(int(others.sum()), len(others), int(mine.sum()), len(mine))


def constructed(survival: pd.DataFrame) -> pd.DataFrame:
    """A row per run of constructed embeddings: ratio, and which of its frequencies survive."""
    rows = []
    for _, run in survival.groupby("run_id"):
        alive = run.sort_values("initial_signal", ascending=False)["survived"].to_numpy(bool)
        rows.append((run["construct_ratio"].iloc[0], *alive[:2], alive[2:].any()))
    return pd.DataFrame(rows, columns=["ratio", "first", "second", "other"]).astype(float)


def best_losses(ablations: pd.DataFrame, n_kept: int) -> pd.Series:
    """Loss of the best choice of so many circles at the last step, by run."""
    last = ablations[ablations["step"] == ablations["step"].max()]
    return last[last["n_kept"] == n_kept].groupby("run_id")["loss"].min()


def peak_step(trajectories: pd.DataFrame) -> Estimate:
    """How near the largest gradient is to step 100: 1 minus |log2 (step / 100)|, mean over runs."""
    means = trajectories.groupby(["run_id", "step"])["gradient"].mean().dropna()
    steps = np.array([rows.idxmax()[1] for _, rows in means.groupby(level=0)], dtype=float)
    return stats.mean(1 - np.abs(np.log2(np.maximum(steps, 1) / 100)))


def late_gradient(trajectories: pd.DataFrame) -> Estimate:
    """A tenth minus the largest gradient from step 1000 on, as a share of the largest of all."""
    means = trajectories.groupby(["run_id", "step"])["gradient"].mean().dropna()
    late = means[means.index.get_level_values("step") >= 1000].groupby(level=0).max()
    return stats.mean((0.1 - late / means.groupby(level=0).max()).dropna().to_numpy())


def scatter_ratio(moduli: pd.DataFrame, primes: pd.DataFrame) -> Estimate:
    """Logarithm of the scatter of mean circle counts about a line in p: all moduli by primes."""
    spreads = []
    for counts in (moduli, primes):
        means = counts.groupby("p")["n_circles"].mean()
        if len(means) < 4:
            return Estimate(n=len(moduli) + len(primes))
        left = means - np.polyval(np.polyfit(means.index, means, 1), means.index)
        spreads.append((float((left**2).sum() / (len(means) - 2)), len(means) - 2))
    (one, n1), (other, n2) = spreads
    if one == 0 or other == 0:
        return Estimate(n=len(moduli) + len(primes))
    center, half = 0.5 * math.log(one / other), stats.Z * math.sqrt(1 / (2 * n1) + 1 / (2 * n2))
    return Estimate(center, center - half, center + half, len(moduli) + len(primes))


def _fits(fits: pd.DataFrame, method: str) -> pd.DataFrame:
    return fits[(fits["method"] == method) & (fits["status"] == "fitted")]


def _mean(values: pd.Series) -> Estimate:
    return stats.mean(values.to_numpy(float, na_value=np.nan))


Claim = tuple[str, str, str, Callable[[pd.DataFrame], Estimate]]

# Identifier, role, table of whose rows of that role the effect is made, effect.
CLAIMS: list[Claim] = [
    ("circle_number", "initial_signals", "circle_counts",
     lambda t: within(_mean(t["n_circles"]), 3, 5)),
    ("frozen_dip", "frozen", "losses", dip_at_p),
    ("frozen_double_descent", "frozen", "losses", double_descent),
    ("circles_rise_with_p", "primes", "circle_counts", lambda t: correlated(t, "p", "n_circles")),
    ("circles_rise_with_d", "dimensions", "circle_counts",
     lambda t: correlated(t, "d", "n_circles")),
    ("signal_correlation", "initial_signals", "survival_rates", signal_correlation),
    ("signal_correlation_50", "initial_signals", "survival_rates",
     lambda t: signal_correlation(t, PUBLISHED_TRIALS)),
    ("line_at_86", "initial_signals", "survival_rates", lambda t: line_at(t, 86)),
    ("line_at_95", "initial_signals", "survival_rates", lambda t: line_at(t, 95)),
    ("scaled_up_survives", "perturbation", "survival", lambda t: scaled(t, above=True)),
    ("scaled_down_dies", "perturbation", "survival", lambda t: scaled(t, above=False)),
    ("first_survives", "construction", "survival",
     lambda t: stats.count(int(constructed(t)["first"].sum()), len(constructed(t)))),
    ("second_rises_with_ratio", "construction", "survival",
     lambda t: correlated(constructed(t), "ratio", "second")),
    ("dead_revive", "construction", "survival",
     lambda t: stats.share(int(constructed(t)["other"].sum()), len(constructed(t)))),
    ("gradient_helps", "initial_gradients", "survival",
     lambda t: shifted(run_auc(t, "initial_gradient"), 0.5)),
    ("one_circle_fails", "trajectory", "circle_ablations",
     lambda t: shifted(_mean(best_losses(t, 1)), 1)),
    ("two_circles_are_worse", "trajectory", "circle_ablations",
     lambda t: _mean(np.log10(best_losses(t, 2) / best_losses(t, 3)).dropna())),
    ("three_circles_suffice", "trajectory", "circle_ablations",
     lambda t: _mean(-1 - np.log10(best_losses(t, 3)))),
    ("least_squares_fit", "ode_dimensions", "ode_fits",
     lambda t: shifted(_mean(_fits(t, "least_squares")["r2"]), 0.95)),
    ("lasso_fit", "ode_dimensions", "ode_fits",
     lambda t: shifted(_mean(_fits(t, "lasso")["r2"]), 0.75)),
    ("lasso_is_sparse", "ode_dimensions", "ode_fits",
     lambda t: shifted(_mean(_fits(t, "lasso")["nonzero"]), 0.25, sign=-1)),
    ("quadratic_is_unstable", "trajectory", "ode_fits",
     lambda t: shifted(stats.share(
         int((_fits(t, "quadratic")["rollout_error"] > _fits(t, "quadratic")["mean_signal"]).sum()),
         len(_fits(t, "quadratic"))), 0.5)),
    ("no_decay_all_survive", "decay_circles", "circle_counts",
     lambda t: shifted(_mean((t["n_circles_absolute"] / t["n_frequencies"])[
         t["weight_decay"] == 0]), 0.9)),
    ("no_decay_no_generalisation", "decay_circles", "circle_counts",
     lambda t: shifted(_mean(t.loc[t["weight_decay"] == 0, "test_accuracy"]), 0.5, sign=-1)),
    ("decay_kills_circles", "decay_circles", "circle_counts",
     lambda t: shifted(correlated(t, "weight_decay", "n_circles_absolute"), 0, sign=-1)),
    ("circularity_rises_with_d", "dimensions", "circle_counts",
     lambda t: correlated(t, "d", "mean_circularity")),
    ("circularity_is_no_help", "dimensions", "survival",
     lambda t: run_auc(t[t["d"] == t["d"].max()], "circularity")),
    ("one_start_revives", "ablated_starts", "circle_counts",
     lambda t: shifted(_mean(t.loc[t["keep_strongest"] == 1, "n_circles"]), 2.5)),
    ("two_strongest_suffice", "ablated_starts", "circle_counts",
     lambda t: within(_mean(t.loc[t["keep_strongest"] == 2, "n_circles"]), 1.5, 2.5)),
    ("random_starts_revive", "random_starts", "circle_counts",
     lambda t: shifted(_mean(t["n_circles"]), 2.5)),
    ("gradient_peak", "trajectory", "trajectories", peak_step),
    ("gradient_fades", "trajectory", "trajectories", late_gradient),
    ("circles_rise_with_modulus", "moduli", "circle_counts",
     lambda t: correlated(t, "p", "n_circles")),
]  # fmt: skip


def table(study: Study) -> pd.DataFrame:
    """A row per claim that the study can speak to."""

    def planned(*roles: str) -> int:
        points = [point for role in roles for point in study.experiment(study.reproduce[role])]
        return sum(point.settings["seeds"]["count"] for point in points)

    rows: list[dict] = []
    for claim, role, name, effect in CLAIMS:
        if role not in study.reproduce:
            continue
        frame = io.read_table(study, name, "" if name == "survival_rates" else role)
        found = effect(frame) if len(frame) else Estimate()
        rows.append({"claim": claim, **found.columns("effect"), "n_planned": planned(role)})
    if {"primes", "moduli"} <= study.reproduce.keys():
        moduli, primes = (io.read_table(study, "circle_counts", r) for r in ("moduli", "primes"))
        found = scatter_ratio(moduli, primes)
        planned_both = planned("moduli", "primes")
        rows.append(
            {"claim": "moduli_are_noisier", **found.columns("effect"), "n_planned": planned_both}
        )
    return pd.DataFrame(rows)
