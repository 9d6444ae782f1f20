"""Table ``ding_claims``: what Ding et al. claim, as effects that are positive if the claim holds.

A few are values of the paper, which the scorecard compares by ``claims.csv``; the others
are claims in words. Where the words leave a bar open ("comparable", "near zero"), the bar is ours
and is named in the claim's statement. Intervals are at 95 %, over runs unless a function says
otherwise.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.metrics import roc_auc_score

from circlet.analysis import stats
from circlet.analysis.stats import Estimate
from circlet.collections.ding import ode, survivors
from circlet.collections.ding.tables.constructed_rates import outcomes
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, column, estimate
from circlet.study.plan import Study

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
OPTIONAL_TABLES = ("circle_ablations", "losses", "ode_fits", "survival_rates", "trajectories")
COLUMNS = [
    column("claim", pa.string(), "identifier of the claim"),
    *estimate("effect", "positive if the claim holds; its unit is in the claim's function"),
    *COUNTS,
]


def within(estimate: Estimate, least: float, most: float) -> Estimate:
    """By how much a mean lies inside a range; negative outside of it."""

    def inside(value: float) -> float:
        return min(value - least, most - value)

    value, low, high, n = estimate
    middle = min(max((least + most) / 2, low), high)
    return Estimate(inside(value), min(inside(low), inside(high)), inside(middle), n)


def signal_correlation(rates: pd.DataFrame, trials: int | None = None) -> Estimate:
    """Pearson r of survival rate and initial signal, over embeddings and frequencies.

    A rate from few runs is noisy, which weakens r. With ``trials``, r is what it would be with so
    many runs per embedding: the variance that is binomial noise is taken out and that of so many
    runs put in.
    """
    raw = stats.correlation(rates["initial_signal"], rates["rate"])
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
    corrected = raw.times(scale)
    # Few runs may leave more noise than there is; such an r cannot be told.
    return corrected if corrected.high < 1 else Estimate(n=raw.n)


def line_at(rates: pd.DataFrame, x0: float) -> Estimate:
    """Survival rate at an initial signal, on the line of least squares of each embedding.

    The frequencies of an embedding compete, so the interval is over embeddings.
    """
    found = []
    for _, here in rates.groupby("embedding_seed"):
        x, y = here["initial_signal"].to_numpy(float), here["rate"].to_numpy(float)
        if len(x) > 2 and np.ptp(x) > 0:
            found.append(float(np.polyval(np.polyfit(x, y, 1), x0)))
    return stats.mean(found)


def run_auc(survival: pd.DataFrame, column: str) -> Estimate:
    """Area under the ROC curve of survival against a column, within a run.

    Mean over embeddings of the mean over their runs, or over runs if they share one embedding.
    """
    found = [
        (run["embedding_seed"].iloc[0], roc_auc_score(run["alive"], run[column]))
        for _, run in survival.dropna(subset=[column]).groupby("run_id")
        if 0 < run["alive"].sum() < len(run)
    ]
    frame = pd.DataFrame(found, columns=["embedding", "auc"])
    by_embedding = frame.groupby("embedding")["auc"].mean()
    return stats.mean(by_embedding if len(by_embedding) > 1 else frame["auc"])


def dip_at_p(losses: pd.DataFrame) -> Estimate:
    """Final loss of dimensions below p minus that of those from p on, up to half of p away."""
    last = losses[losses["step"] == losses["step"].max()]
    near = last[(last["d"] - last["p"]).abs() <= last["p"] / 2]
    below = near["d"] < near["p"]
    return stats.mean_difference(near.loc[below, "test_loss"], near.loc[~below, "test_loss"])


def double_descent(losses: pd.DataFrame) -> Estimate:
    """Loss of dimensions between 20 and p minus that of those up to 20, at step 10 000."""
    last = losses[losses["step"] == 10_000]
    middle = last[(last["d"] > 20) & (last["d"] < last["p"])]
    return stats.mean_difference(middle["test_loss"], last[last["d"] <= 20]["test_loss"])


def scaled(survival: pd.DataFrame, above: bool) -> Estimate:
    """Survival of a frequency that was scaled far above the others, or far below.

    Far is two standard deviations of the other initial signals from their mean. Above: its share
    of survivals minus a half. Below: the share of the others minus its own.
    """
    mine, others = [], []
    for _, run in survival.groupby("run_id"):
        own = run["frequency"] == run["scale_frequency"]
        rest = run.loc[~own, "initial_signal"]
        deviation = (run.loc[own, "initial_signal"].iloc[0] - rest.mean()) / rest.std()
        if deviation >= 2 if above else deviation <= -2:
            mine += list(run.loc[own, "alive"])
            others += list(run.loc[~own, "alive"])
    if above:
        return stats.share(*stats.counted(mine)).above(0.5)
    found = stats.share_difference(*stats.counted(others), *stats.counted(mine))
    return found._replace(n=len(mine))


def draws(survival: pd.DataFrame, column: str, every: bool) -> Estimate:
    """Draws of constructed embeddings in which a frequency survives, at every ratio or at any.

    The same two frequencies are drawn at each ratio, so the draws, not the runs, are counted. At
    a ratio of 1 neither frequency is the first.
    """
    runs = outcomes(survival)
    runs = runs[runs["ratio"] < 1]
    by_draw = runs.groupby("seed")[column]
    alive = by_draw.all() if every else by_draw.any()
    return stats.count(*stats.counted(alive))


def second_by_ratio(survival: pd.DataFrame) -> Estimate:
    """Pearson r, over runs, of the ratio and of whether the second survives."""
    runs = outcomes(survival)
    return stats.correlation(runs["ratio"], runs["second"])


def best_losses(ablations: pd.DataFrame, n_kept: int) -> pd.Series:
    """Loss of the best choice of a number of circles at the last step, by run."""
    last = ablations[ablations["step"] == ablations["step"].max()]
    return last[last["n_kept"] == n_kept].groupby("run_id")["loss"].min()


def lost(fits: pd.DataFrame) -> Estimate:
    """Share of fits whose rollout is off by more than the mean signal."""
    return stats.share(*stats.counted(fits["rollout_error"] > fits["mean_signal"]))


def all_survive(counts: pd.DataFrame) -> Estimate:
    """Share of runs in which every frequency has a final signal above 10."""
    return stats.share(*stats.counted(counts["n_circles_absolute"] == counts["n_frequencies"]))


def _gradients(trajectories: pd.DataFrame) -> pd.Series:
    """Mean over frequencies of the gradient norm, by run and step at which it is logged."""
    return trajectories.groupby(["run_id", "step"])["gradient"].mean().dropna()


def peak_step(trajectories: pd.DataFrame) -> Estimate:
    """How near the largest gradient is to step 100: 1 minus |log2 (step / 100)|, mean over runs."""
    means = _gradients(trajectories)
    steps = np.array([rows.idxmax()[1] for _, rows in means.groupby(level=0)], dtype=float)
    return stats.mean(1 - np.abs(np.log2(np.maximum(steps, 1) / 100)))


def late_gradient(trajectories: pd.DataFrame) -> Estimate:
    """A tenth minus the largest gradient from step 1000 on, as a share of the largest of all."""
    means = _gradients(trajectories)
    late = means[means.index.get_level_values("step") >= 1000].groupby(level=0).max()
    return stats.mean(0.1 - late / means.groupby(level=0).max())


def scatter_ratio(moduli: pd.DataFrame) -> Estimate:
    """Logarithm of the scatter of mean circle counts about a line in p: composites by primes.

    Both have the same number of runs per modulus, so what is noise of the means is equal.
    """
    means = moduli.groupby("p")["n_circles"].mean()
    prime = np.array([all(p % n for n in range(2, p)) for p in means.index])
    n1, n2 = int((~prime).sum()), int(prime.sum())
    if min(n1, n2) < 5:  # too few to compare their scatter
        return Estimate(n=len(moduli))
    left = means - np.polyval(np.polyfit(means.index, means, 1), means.index)
    one, other = float((left[~prime] ** 2).mean()), float((left[prime] ** 2).mean())
    if one == 0 or other == 0:
        return Estimate(n=len(moduli))
    center, half = 0.5 * math.log(one / other), stats.Z * math.sqrt(1 / (2 * n1) + 1 / (2 * n2))
    return Estimate(center, center - half, center + half, len(moduli))


def _fits(fits: pd.DataFrame, method: str) -> pd.DataFrame:
    """Fits of one method to as many steps as the paper's."""
    return fits[(fits["method"] == method) & (fits["n_steps"] >= ode.STEPS)]


# Identifier, role, table of whose rows of that role the effect is made, effect.
_CLAIMS: list[tuple[str, str, str, Callable[[pd.DataFrame], Estimate]]] = [
    ("circle_number", "initial_signals", "circle_counts",
     lambda t: within(stats.mean(t["n_circles"]), 3, 5)),
    ("frozen_dip", "frozen", "losses", dip_at_p),
    ("frozen_double_descent", "frozen", "losses", double_descent),
    ("circles_rise_with_p", "primes", "circle_counts",
     lambda t: stats.correlation(t["p"], t["n_circles"])),
    ("circles_rise_with_d", "dimensions", "circle_counts",
     lambda t: stats.correlation(t["d"], t["n_circles"])),
    ("signal_correlation", "initial_signals", "survival_rates", signal_correlation),
    ("signal_correlation_50", "initial_signals", "survival_rates",
     lambda t: signal_correlation(t, 50)),  # runs per embedding, as behind figure 6 left
    ("line_at_86", "initial_signals", "survival_rates", lambda t: line_at(t, 86)),
    ("line_at_95", "initial_signals", "survival_rates", lambda t: line_at(t, 95)),
    ("scaled_up_survives", "perturbation", "survival", lambda t: scaled(t, above=True)),
    ("scaled_down_dies", "perturbation", "survival", lambda t: scaled(t, above=False)),
    ("first_survives", "construction", "survival", lambda t: draws(t, "first", every=True)),
    ("second_rises_with_ratio", "construction", "survival", second_by_ratio),
    ("dead_revive", "construction", "survival", lambda t: draws(t, "revived", every=False)),
    ("gradient_helps", "initial_gradients", "survival",
     lambda t: run_auc(t, "initial_gradient").above(0.5)),
    ("one_circle_fails", "trajectory", "circle_ablations",
     lambda t: stats.mean(best_losses(t, 1)).above(1)),
    ("two_circles_are_worse", "trajectory", "circle_ablations",
     lambda t: stats.mean(np.log10(best_losses(t, 2) / best_losses(t, 3)))),
    ("three_circles_suffice", "trajectory", "circle_ablations",
     lambda t: stats.mean(-1 - np.log10(best_losses(t, 3)))),
    ("least_squares_fit", "ode_dimensions", "ode_fits",
     lambda t: stats.mean(_fits(t, "least_squares")["r2"]).above(0.95)),
    ("lasso_fit", "ode_dimensions", "ode_fits",
     lambda t: stats.mean(_fits(t, "lasso")["r2"]).above(0.75)),
    ("lasso_is_sparse", "ode_dimensions", "ode_fits",
     lambda t: stats.mean(_fits(t, "lasso")["nonzero"]).below(0.25)),
    ("quadratic_is_unstable", "trajectory", "ode_fits",
     lambda t: lost(_fits(t, "quadratic")).above(0.5)),
    ("no_decay_all_survive", "decay_circles", "circle_counts",
     lambda t: all_survive(t[t["weight_decay"] == 0]).above(0.5)),
    ("no_decay_no_generalisation", "decay_circles", "circle_counts",
     lambda t: stats.mean(t.loc[t["weight_decay"] == 0, "test_accuracy"]).below(0.5)),
    ("decay_kills_circles", "decay_circles", "circle_counts",
     lambda t: stats.correlation(t["weight_decay"], t["n_circles_absolute"]).below(0)),
    ("circularity_rises_with_d", "dimensions", "circle_counts",
     lambda t: stats.correlation(t["d"], t["mean_circularity"])),
    ("circularity_is_no_help", "dimensions", "survival",
     lambda t: within(run_auc(t[t["d"] == 128], "circularity"), 0.4, 0.6)),  # as in figure 11 right
    ("one_start_revives", "ablated_starts", "circle_counts",
     lambda t: stats.mean(t.loc[t["keep_strongest"] == 1, "n_circles"]).above(2.5)),
    ("two_strongest_suffice", "ablated_starts", "circle_counts",
     lambda t: within(stats.mean(t.loc[t["keep_strongest"] == 2, "n_circles"]), 1.5, 2.5)),
    ("random_starts_revive", "random_starts", "circle_counts",
     lambda t: stats.mean(t["n_circles"]).above(2.5)),
    ("gradient_peak", "trajectory", "trajectories", peak_step),
    ("gradient_fades", "trajectory", "trajectories", late_gradient),
    ("circles_rise_with_modulus", "moduli", "circle_counts",
     lambda t: stats.correlation(t["p"], t["n_circles"])),
    ("composites_are_noisier", "moduli", "circle_counts", scatter_ratio),
]  # fmt: skip


def table(study: Study) -> Iterator[dict]:
    """A row per claim that the study can speak to."""
    for claim, role, name, effect in _CLAIMS:
        if role not in study.reproduce:
            continue
        points = study.experiment(study.reproduce[role])
        frame = parquet.read_table(study, name, role)
        if name == "survival":
            # Figure 7 is by the rule for gradients, all others by the rule for counts.
            gradients = role == "initial_gradients"
            rule = survivors.rule(points[0].steps)[1] if gradients else "survived"
            frame = frame.assign(alive=frame[rule].astype(bool))
        found = effect(frame) if len(frame) else Estimate()
        if "run_id" in frame:
            n_runs = frame["run_id"].nunique()
        else:
            n_runs = int(frame.groupby("embedding_seed")["n_runs"].first().sum())
        n_planned = sum(point.count for point in points)
        counts = {"n_runs": n_runs, "n_planned": n_planned}
        yield {"claim": claim, **found.columns("effect"), **counts}
