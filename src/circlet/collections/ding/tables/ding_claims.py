"""Table ``ding_claims``: our values for Ding et al.'s claims.

``claims.csv`` has the published values and the thresholds of claims in words. Runs that share an
initial embedding, other weights or a train set are dependent, so n counts the rarest seed.
"""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from circlet.analysis import association, contrasts, spectrum, stats
from circlet.analysis.stats import Estimate
from circlet.collections.ding import ablated_starts, ode, survivors
from circlet.collections.ding.shared_seeds import SEEDS, fewest, over_runs, signal_correlation
from circlet.collections.ding.tables.constructed_rates import outcomes
from circlet.storage import parquet
from circlet.storage.schema import EFFECTS, Rows
from circlet.study.plan import Study

OPTIONAL_ROLES = (
    "trajectory",
    "ablations",
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
OPTIONAL_TABLES = ("circle_ablations", "losses", "ode_fits", "trajectories")
COLUMNS = EFFECTS


def line_at(survival: pd.DataFrame, x0: float) -> Estimate:
    """Return the survival rate at x0 on the least-squares line of a run; mean over runs.

    The mean line of the runs of an embedding is the line through its survival rates.
    """
    values = []
    for _, run in survival.groupby("run_id"):
        x, y = run["initial_signal"].to_numpy(float), run["alive"].to_numpy(float)
        if len(x) > 2 and np.ptp(x) > 0:
            values.append((*run[SEEDS].iloc[0], float(np.polyval(np.polyfit(x, y, 1), x0))))
    frame = pd.DataFrame(values, columns=[*SEEDS, "value"])
    return over_runs(frame["value"], frame, -math.inf, math.inf)


def run_auc(survival: pd.DataFrame, column: str) -> Estimate:
    """Area under the ROC curve of survival against a column, within a run; mean over runs."""
    areas = [
        (*run[SEEDS].iloc[0], roc_auc_score(run["alive"], run[column]))
        for _, run in survival.dropna(subset=[column]).groupby("run_id")
        if 0 < run["alive"].sum() < len(run)
    ]
    frame = pd.DataFrame(areas, columns=[*SEEDS, "auc"])
    return over_runs(frame["auc"], frame, 0, 1)


def _by_seed(losses: pd.DataFrame, above: pd.Series) -> Estimate:
    """Divide the mean loss of rows ``above`` by that of the others; geometric mean over seeds."""
    parts = [losses.loc[rows].groupby("seed")["test_loss"].mean() for rows in (above, ~above)]
    return stats.geometric_mean((parts[0] / parts[1]).dropna())


def dip_at_p(losses: pd.DataFrame) -> Estimate:
    """Divide the last test loss for d < p by that for d >= p, both at most p / 2 from p."""
    last = losses[losses["step"] == losses["step"].max()]
    near = last[(last["d"] - last["p"]).abs() <= last["p"] / 2]
    return _by_seed(near, near["d"] < near["p"])


def double_descent(losses: pd.DataFrame) -> Estimate:
    """Divide the loss for 20 < d < p by that for d <= 20, at step 10 000."""
    last = losses[(losses["step"] == 10_000) & (losses["d"] < losses["p"])]
    return _by_seed(last, last["d"] > 20)


def scaled(survival: pd.DataFrame, above: bool) -> Estimate:
    """Survival of a frequency that was scaled far above the others, or far below; mean over runs.

    Far means two standard deviations of the other initial signals from their mean. Above: the
    survival rate of the frequency. Below: the survival rate of the others minus its own.
    """
    rows = []
    for _, run in survival.groupby("run_id"):
        is_scaled = run["frequency"] == run["scale_frequency"]
        rest = run.loc[~is_scaled, "initial_signal"]
        deviation = (run.loc[is_scaled, "initial_signal"].iloc[0] - rest.mean()) / rest.std()
        if deviation >= 2 if above else deviation <= -2:
            alive = run.groupby(is_scaled)["alive"].mean()
            rows.append((*run[SEEDS].iloc[0], alive[False], alive[True]))
    runs = pd.DataFrame(rows, columns=[*SEEDS, "others", "scaled"])
    rate = over_runs(runs["scaled"], runs, 0, 1)
    return rate if above else contrasts.difference(over_runs(runs["others"], runs, 0, 1), rate)


def always_first(survival: pd.DataFrame) -> Estimate:
    """Share of draws of two frequencies in which the stronger survives at every ratio below 1."""
    runs = outcomes(survival)
    draws = runs[runs["ratio"] < 1].groupby(fewest(runs))["first"]
    return stats.share(*stats.counted(draws.all().to_numpy()))


def revived(survival: pd.DataFrame) -> Estimate:
    """Return the share of runs in which a frequency without initial signal survives."""
    runs = outcomes(survival)
    return over_runs(runs["revived"], runs, 0, 1)


def second_by_ratio(survival: pd.DataFrame) -> Estimate:
    """Return Pearson's r of the ratio and the survival of the second frequency."""
    runs = outcomes(survival)
    return association.correlation_over_units(runs["ratio"], runs["second"], runs[fewest(runs)])


def best_losses(ablations: pd.DataFrame, n_kept: int) -> pd.Series:
    """Loss of the best choice of a number of circles at the last step, by run."""
    last = ablations[ablations["step"] == ablations["step"].max()]
    return last[last["n_kept"] == n_kept].groupby("run_id")["loss"].min()


def lost(fits: pd.DataFrame) -> Estimate:
    """Share of fits whose rollout is off by more than the mean signal."""
    return stats.share(*stats.counted(fits["rollout_error"] > fits["mean_signal"]), method="exact")


def all_survive(counts: pd.DataFrame) -> Estimate:
    """Share of runs with all final signals above 10: at weight decay 0 minus at 0.1 and more."""
    survive = counts["n_circles_absolute"] == counts["n_frequencies"]
    parts = (counts["weight_decay"] == 0, counts["weight_decay"] >= 0.1)
    by_seed = [survive[part].groupby(counts["seed"]).any() for part in parts]
    difference = contrasts.share_difference(*stats.counted(by_seed[0]), *stats.counted(by_seed[1]))
    return difference._replace(n=min(map(len, by_seed)))


def rises(counts: pd.DataFrame, by: str, what: str = "n_circles") -> Estimate:
    """Return Pearson's r of a parameter and a quantity, over the seeds that have every value."""
    n_values = counts.groupby("seed")[by].transform("nunique")
    runs = counts[n_values == counts[by].nunique()]
    return association.correlation_over_units(runs[by], runs[what], runs["seed"])


def _gradients(trajectories: pd.DataFrame) -> pd.Series:
    return trajectories.groupby(["run_id", "step"])["gradient"].mean().dropna()


def peak_step(trajectories: pd.DataFrame) -> Estimate:
    """Step at which the mean gradient is largest, geometric mean over runs.

    The step is only known up to logging, so the interval extends at least half way to the
    neighbouring logged steps, on a logarithmic scale.
    """
    means = _gradients(trajectories)
    steps = np.array([rows.idxmax()[1] for _, rows in means.groupby(level=0)], dtype=float)
    peak = stats.geometric_mean(np.maximum(steps, 1))
    if peak.n < 2:
        return peak
    logged = np.unique(np.maximum(means.index.get_level_values("step").to_numpy(float), 1))
    at = int(np.abs(np.log(logged / peak.value)).argmin())
    below, above = logged[max(at - 1, 0)], logged[min(at + 1, len(logged) - 1)]
    low, high = (math.sqrt(end * peak.value) for end in (below, above))
    return peak._replace(low=float(np.fmin(peak.low, low)), high=float(np.fmax(peak.high, high)))


def late_gradient(trajectories: pd.DataFrame) -> Estimate:
    """Largest gradient from step 1000 on, as a share of the largest of all; mean over runs."""
    means = _gradients(trajectories)
    late = means[means.index.get_level_values("step") >= 1000].groupby(level=0).max()
    return stats.bounded_mean(late / means.groupby(level=0).max(), 0, 1)


def _fits(fits: pd.DataFrame, method: str) -> pd.DataFrame:
    return fits[(fits["method"] == method) & (fits["n_steps"] >= ode.STEPS)]


def _lasso_gap(fits: pd.DataFrame) -> Estimate:
    """R^2 of least squares minus that of the Lasso, mean over runs."""
    squares, lasso = (
        _fits(fits, method).set_index(["run_id", "seed"])["r2"]
        for method in ("least_squares", "lasso")
    )
    return stats.mean((squares - lasso).groupby(level="seed").mean())


def _over_seeds(fits: pd.DataFrame, method: str, column: str) -> Estimate:
    """Return the mean over seeds of a share of a method's fits; each seed has every dimension."""
    of_method = _fits(fits, method)
    return stats.mean(of_method.groupby("seed")[column].mean()).within(-math.inf, 1)


def analytic_error(fits: pd.DataFrame) -> Estimate:
    """Divide the Lasso's analytic error by its rollout error; geometric mean over runs."""
    lasso = _fits(fits, "lasso")
    return stats.geometric_mean(lasso["analytic_error"] / lasso["rollout_error"])


def collaborating(trajectories: pd.DataFrame) -> Estimate:
    """Return the share of coupled pairs of frequencies that collaborate, mean over runs.

    Coupled: a Lasso coefficient is not 0. Collaborate: both coefficients sum to more than 0.
    """
    shares = []
    for _, run in trajectories.dropna(subset="signal").groupby("run_id"):
        x = ode.dense(run)
        if not ode.enough(x):
            continue
        effects = ode.fit(x, "lasso").coefficients
        pairs = np.triu_indices(len(effects), 1)
        has_any = ((effects != 0) | (effects.T != 0))[pairs]
        shares.append(((effects + effects.T)[pairs] > 0)[has_any].mean())
    return stats.bounded_mean(shares, 0, 1)


def scatter_ratio(moduli: pd.DataFrame) -> Estimate:
    """Scatter of mean circle counts about a line in p: composites divided by primes.

    The noise of the means, each over few runs, is subtracted. The interval is a jackknife of the
    logarithm over the moduli of each kind; n counts the moduli of the rarer kind.
    """
    of = moduli.groupby("p")["n_circles"]
    means, noise = of.mean(), of.var() / of.size()
    prime = np.array([spectrum.is_prime(p) for p in means.index], dtype=bool)
    fewest = min(int(prime.sum()), int((~prime).sum()))
    if fewest < 5 or noise.isna().any():  # too few to compare their scatter
        return Estimate(n=fewest)
    residual = means - np.polyval(np.polyfit(means.index, means, 1), means.index)
    squares = (residual**2 - noise).to_numpy()
    parts = [_log_scatter(squares[~prime]), _log_scatter(squares[prime])]
    if not all(math.isfinite(end) for part in parts for end in part):
        return Estimate(n=fewest)
    return contrasts.difference(*parts)._replace(n=fewest).mapped(math.exp)


def _log_scatter(squares: np.ndarray) -> Estimate:
    """Return the logarithm of the root of a mean of noise-corrected squares, by the jackknife.

    Without a value if the mean, or the mean without any one modulus, is not above 0.
    """
    n = len(squares)
    without = (squares.sum() - squares) / (n - 1)
    if min(without.min(), squares.mean()) <= 0:
        return Estimate(n=n)
    center, parts = 0.5 * math.log(squares.mean()), 0.5 * np.log(without)
    return stats.jackknife(center, parts)


# Identifier, role, table, and effect as a function of the table's rows of that role.
_CLAIMS: list[tuple[str, str, str, Callable[[pd.DataFrame], Estimate]]] = [
    ("circle_number", "initial_signals", "circle_counts",
     lambda t: over_runs(t["n_circles"], t, 0, math.inf)),
    ("frozen_dip", "frozen", "losses", dip_at_p),
    ("frozen_double_descent", "frozen", "losses", double_descent),
    ("circles_rise_with_p", "primes", "circle_counts", lambda t: rises(t, "p")),
    ("circles_rise_with_d", "dimensions", "circle_counts", lambda t: rises(t, "d")),
    ("signal_correlation", "initial_signals", "survival", signal_correlation),
    ("signal_correlation_50", "initial_signals", "survival",
     lambda t: signal_correlation(t, 50)),  # runs per embedding, as in figure 6 left
    ("line_at_86", "initial_signals", "survival", lambda t: line_at(t, 86)),
    ("line_at_95", "initial_signals", "survival", lambda t: line_at(t, 95)),
    ("scaled_up_survives", "perturbation", "survival", lambda t: scaled(t, above=True)),
    ("scaled_down_dies", "perturbation", "survival", lambda t: scaled(t, above=False)),
    ("first_survives", "construction", "survival", always_first),
    ("second_rises_with_ratio", "construction", "survival", second_by_ratio),
    ("dead_revive", "construction", "survival", revived),
    ("gradient_helps", "initial_gradients", "survival", lambda t: run_auc(t, "initial_gradient")),
    ("signal_helps", "initial_gradients", "survival", lambda t: run_auc(t, "initial_signal")),
    ("one_circle_fails", "ablations", "circle_ablations", lambda t: stats.mean(best_losses(t, 1))),
    ("two_circles_are_worse", "ablations", "circle_ablations",
     lambda t: stats.geometric_mean(best_losses(t, 2) / best_losses(t, 3))),
    ("three_circles_suffice", "ablations", "circle_ablations",
     lambda t: stats.geometric_mean(best_losses(t, 3))),
    ("least_squares_fit", "ode_dimensions", "ode_fits",
     lambda t: _over_seeds(t, "least_squares", "r2")),
    ("lasso_fit", "ode_dimensions", "ode_fits", _lasso_gap),
    ("lasso_is_sparse", "ode_dimensions", "ode_fits",
     lambda t: _over_seeds(t, "lasso", "nonzero")),
    ("quadratic_is_unstable", "trajectory", "ode_fits", lambda t: lost(_fits(t, "quadratic"))),
    ("analytic_is_comparable", "trajectory", "ode_fits", analytic_error),
    ("circles_collaborate_and_compete", "trajectory", "trajectories", collaborating),
    ("no_decay_all_survive", "decay_circles", "circle_counts", all_survive),
    ("no_decay_no_generalisation", "decay_circles", "circle_counts",
     lambda t: stats.bounded_mean(t.loc[t["weight_decay"] == 0, "test_accuracy"], 0, 1)),
    ("decay_kills_circles", "decay_circles", "circle_counts",
     lambda t: rises(t, "weight_decay", "n_circles_absolute")),
    ("circularity_rises_with_d", "dimensions", "circle_counts",
     lambda t: rises(t, "d", "mean_circularity")),
    ("circularity_helps", "initial_signals", "survival", lambda t: run_auc(t, "circularity")),
    *((claim, role, "circle_counts",
       lambda t, n=n: stats.mean_count(ablated_starts.kept(t, n)["n_circles"]))
      for claim, role, n in (("one_start_revives", "ablated_starts", 1),
          ("two_strongest_suffice", "ablated_starts", 2),
          ("one_random_revives", "random_starts", 1), ("two_random_revive", "random_starts", 2))),
    ("two_strongest_are_sooner", "ablated_starts", "losses", ablated_starts.sooner),
    *((claim, role, "losses", lambda t, n=n: ablated_starts.in_cycles(ablated_starts.kept(t, n)))
      for claim, role, n in (("one_start_spikes", "ablated_starts", 1),
          ("one_random_spikes", "random_starts", 1), ("two_random_spike", "random_starts", 2))),
    ("two_random_fail", "random_starts", "losses",
     lambda t: ablated_starts.ends_low(ablated_starts.kept(t, 2))),
    ("gradient_peak", "trajectory", "trajectories", peak_step),
    ("gradient_fades", "trajectory", "trajectories", late_gradient),
    ("circles_rise_with_modulus", "moduli", "circle_counts", lambda t: rises(t, "p")),
    ("composites_are_noisier", "moduli", "circle_counts", scatter_ratio),
]  # fmt: skip


def table(study: Study) -> Rows:
    """Yield a row per claim whose role the study has."""
    for claim, role, name, effect in _CLAIMS:
        if role not in study.reproduce:
            continue
        points = study.experiment(study.reproduce[role])
        frame = parquet.read_table(study, name, role)
        if name == "survival":
            # Figure 7 uses the rule for gradients, all others the rule for counts.
            gradients = role == "initial_gradients"
            rule = survivors.rule(points[0].steps)[1] if gradients else "survived"
            frame = frame.assign(alive=frame[rule].astype(bool))
        base = [point.parent.experiment for point in points if point.parent]
        rows = frame
        if name == "losses" and base:  # to compare with the runs from all circles
            rows = parquet.read_table(study, name)
            rows = rows[rows["experiment"].isin([study.reproduce[role], *base])]
        measured = effect(rows) if len(frame) else Estimate()
        planned = sum(point.count for point in points)
        counts = {"n_runs": frame["run_id"].nunique(), "n_planned": planned}
        yield {"claim": claim, **measured.columns("effect"), **counts}
