"""Numbers from the tables of the frozen studies, for pages."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from circlet.analysis import association, stats
from circlet.collections.ding import ode
from circlet.collections.findings import survivor_sets
from circlet.collections.musat.tables import musat_claims
from circlet.collections.odonnat import spike_effects
from circlet.formatting import interval, number
from circlet.storage import parquet

DOCS = Path(__file__).parent


@cache
def table(study: str, name: str) -> pd.DataFrame:
    """Return a table of a frozen study."""
    return parquet.read(DOCS / f"studies/{study}/tables/{name}.parquet").to_pandas()


def shown(estimate: stats.Estimate) -> str:
    """Return an estimate with its interval."""
    return f"{number(estimate.value)} {interval(estimate.low, estimate.high)}"


def made(study: str) -> str:
    """Return a study's number of runs, core-hours, machines and commits, as text."""
    rows = table(study, "provenance")
    link = f"studies/{study}/tables/provenance.parquet"
    return (
        f"{rows['runs'].sum()} runs in {rows['hours'].sum():.1f} core-hours "
        f"([commits and machines]({link}))"
    )


def summary(study: str, experiment: str, outcome: str, scale: float = 1, **where: Any) -> str:
    """Return the estimate and interval of an outcome at the point with these values."""
    at = {"experiment": experiment, "outcome": outcome, **where}
    values = row(study, "outcome_summary", **at)
    center, low, high = (scale * values[name] for name in ("estimate", "low", "high"))
    return f"{number(center)} {interval(low, high)}"


def extremes(study: str, experiment: str, outcome: str, **where: Any) -> pd.Series:
    """Return estimates of an outcome at the points with these values, smallest first."""
    rows = table(study, "outcome_summary")
    for column, target in {"experiment": experiment, "outcome": outcome, **where}.items():
        rows = rows[rows[column].isin(target if isinstance(target, list) else [target])]
    return rows["estimate"].sort_values()


def effect(study: str, experiment: str, outcome: str, parameter: str, column: str) -> str:
    """Return the effect of a parameter on an outcome: ``rho``, or the ``change`` per unit."""
    at = {"experiment": experiment, "outcome": outcome, "parameter": parameter}
    return cell(study, "effects", column, **at)


def row(study: str, name: str, **where: Any) -> Any:
    """Return the only row of a table with these values; None stands for a missing value."""
    rows = table(study, name)
    for column, target in where.items():
        rows = rows[rows[column].isna() if target is None else rows[column] == target]
    if len(rows) != 1:
        raise SystemExit(f"docs/render.py: {len(rows)} rows of {name} of {study} have {where}")
    return rows.iloc[0]


def cell(study: str, name: str, column: str, **where: Any) -> str:
    """Return an estimate in the only row of a table with these values, with its interval."""
    return shown(stats.Estimate.of_row(row(study, name, **where), column))


def at_step(study: str, name: str, experiment: str, column: str, step: int) -> str:
    """Return the mean of a column over an experiment's runs at a step, with its interval."""
    rows = table(study, name)
    selected = (rows["experiment"] == experiment) & (rows["step"] == step)
    return shown(stats.mean(rows.loc[selected, column]))


def output_layer(what: str) -> str:
    """Return how many times larger a magnitude of Mușat's output layer is without weight decay."""
    magnitudes = table("grids_and_circles", "weight_magnitudes").query("experiment == 'decay_scan'")
    return number(musat_claims.shrinkage(magnitudes, what, "output").value)


def sums_in_long_runs() -> str:
    """Return sums among survivors divided by those by chance, after 30 000 steps at p = 59."""
    rows = table("full_length", "survival").query("experiment == 'initial_gradients'")
    sets = survivor_sets.wide(rows, "survived")
    sums = survivor_sets.relations(59)["sum"]
    # Runs that share an embedding are dependent.
    embeddings = rows.groupby("run_id")["embedding_seed"].first()
    observed, expected = (
        pd.Series(f(sets.to_numpy(bool), sums), sets.index).groupby(embeddings).sum().to_numpy()
        for f in (survivor_sets.count, survivor_sets.expected)
    )
    return shown(stats.ratio(observed, expected))


def circles_per_ln_p() -> str:
    """Return the slope of the number of circles in ln p after 30 000 steps, from p = 23 on."""
    rows = table("full_length", "circle_counts").query("experiment == 'primes' and p >= 23")
    x = np.log(rows["p"].astype(float))
    return shown(association.slope(x, rows["n_circles"], np.zeros(len(rows)), rows["seed"]))


MAIN_SETTING = ("heads", "fresh_heads")


def main_setting(
    study: str, name: str, experiments: tuple[str, ...] = MAIN_SETTING
) -> pd.DataFrame:
    """Return the rows of a table about experiments, by default Odonnat et al.'s main setting."""
    rows = table(study, name)
    return rows[rows["run_id"].str.split("/").str[0].isin(experiments)]


def over_spikes(study: str, column: str, *experiments: str) -> str:
    """Return the geometric mean over spikes, then over runs; default: of the main setting."""
    spikes = main_setting(study, "spikes", experiments or MAIN_SETTING)
    return shown(spike_effects.over_runs(spikes, column))


def rises(study: str, only_unbegun: bool = False) -> str:
    """Return for how many spikes the sharpness is larger than ten logged steps earlier."""
    spikes = main_setting(study, "spikes").dropna(subset=["sharpness_earlier", "sharpness"])
    spikes = spikes[spike_effects.unbegun(spikes)] if only_unbegun else spikes
    return f"{(spikes['sharpness'] > spikes['sharpness_earlier']).sum()} of {len(spikes)}"


def moved_by_distractors(study: str) -> str:
    """Return in how many solving networks distractors make over a tenth of the variance of xi."""
    heads = main_setting(study, "heads")
    shares = heads.loc[heads["success"].astype(bool), "rho_suffix"]
    return f"{(shares > 0.1).sum()} of {len(shares)}"


def small_norms(study: str, least: float) -> str:
    """Return in how many networks with spikes 1/|xi| is ``least`` times as large in one."""
    spikes = main_setting(study, "spikes").dropna(subset=["norm_gain"])
    large = spikes.loc[spikes["norm_gain"] >= least, "run_id"]
    return f"{large.nunique()} of {spikes['run_id'].nunique()}"


def kinds_of_heads(study: str) -> dict[tuple[bool, str], int]:
    """Return the number of heads in the main setting, by success and kind."""
    return main_setting(study, "heads").groupby(["success", "kind"]).size().to_dict()


@cache  # two pages have numbers of it
def lasso_of_squares(study: str) -> pd.DataFrame:
    """Return R² and the share of nonzero coefficients of a Lasso of each run's squared signals.

    ``gap`` is the R² of least squares minus that of the Lasso.
    """
    rows = []
    for _, run in table(study, "trajectories").dropna(subset="signal").groupby("run_id"):
        squares = ode.dense(run) ** 2
        laws = {method: ode.fit(squares, method) for method in ("lasso", "least_squares")}
        r2 = {method: ode.r2(law, squares) for method, law in laws.items()}
        gap = r2["least_squares"] - r2["lasso"]
        rows.append({"r2": r2["lasso"], "gap": gap, "nonzero": laws["lasso"].nonzero})
    return pd.DataFrame(rows)


def arithmetic(study: str, name: str) -> dict[str, Any]:
    """Return how many circles of float64 an arithmetic keeps, loses and adds, and other counts."""
    rows = table(study, "precision")
    runs = rows[(rows["arithmetic"] == name) & rows["lost"].notna()]
    return {
        "n": len(runs),
        "seconds": runs["seconds"].median(),
        "losing": int((runs["lost"] > 0).sum()),
        "twin": int((runs["n_circles"] - runs["gained"] + runs["lost"]).sum()),
        "kept": int((runs["n_circles"] - runs["gained"]).sum()),
        "gained": int(runs["gained"].sum()),
    }


@cache
def coverage() -> pd.DataFrame:
    """Return the population in which the interval of each method covers least."""
    cases = pd.read_csv(DOCS / "studies/coverage.csv")
    return cases.loc[cases.groupby("method", sort=False)["coverage"].idxmin()]


@cache
def planted() -> pd.DataFrame:
    """Return the wrong results that were planted in frozen studies, and what became of them."""
    return pd.read_csv(DOCS / "studies/planted_errors.csv")
