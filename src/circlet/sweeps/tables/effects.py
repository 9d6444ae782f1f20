"""Table ``effects``: effect of each swept parameter on each outcome, per experiment.

Runs are compared at equal values of the other swept parameters. For a parameter with numbers the
table has Spearman's rho and the change per unit or, if its values are spaced by factors, per
decade. For one with words it has the change from its first value to each other one. If points share
seeds, runs with the same seed are compared, so that what they share by their seed drops out, and
intervals are over seeds. Otherwise they are over runs (`circlet.analysis.stats`).

A time that was not reached counts as the largest in rho; a change of times is only known where all
runs have reached it. Settings of the other parameters with three runs or fewer have no rho. A
parameter with a value of 0 has no decades, so its change is per unit.
"""

import math

import numpy as np
import pandas as pd

from circlet.analysis import association, stats
from circlet.analysis.stats import Estimate
from circlet.storage import parquet
from circlet.storage.schema import EXPERIMENT, Rows, column, estimate
from circlet.study.plan import Study
from circlet.study.swept import Swept, swept
from circlet.sweeps.tables import outcome_summary
from circlet.systems.spec import Outcome

TABLES = ("outcomes",)
CONFIG = ("milestones", "derived_metrics")
COLUMNS = [
    EXPERIMENT,
    column("system", "string", "what was trained or simulated"),
    column("outcome", "string", "what it is called"),
    column("label", "string", "the outcome in words"),
    column("parameter", "string", "what is swept"),
    column("per", "string", "unit, decade, or from one value to another"),
    *estimate("rho", "Spearman's rank correlation"),
    *estimate("change", "of the outcome per unit or decade, or from value to value"),
    column("n_paired", "int32", "seeds whose runs are compared; 0 if they share none"),
    column("note", "string", "why the change is not known; empty if it is"),
]


def _estimates(name: str, measured: Estimate) -> dict:
    return {k: v if np.isfinite(v) else None for k, v in measured.columns(name).items()}


def _change(outcome: Outcome, x: pd.Series, runs: pd.DataFrame) -> Estimate:
    """Estimate the change of an outcome per x; if all runs agree, intervals at each x bound it."""
    if outcome.kind == "time" and runs["value"].isna().any():
        return Estimate(n=len(runs))
    measured = association.slope(x, runs["value"], runs["stratum"], runs["unit"], outcome.reach)
    rounding = stats.ROUNDING * runs["value"].abs().max() / (x.max() - x.min() or 1)
    if math.isnan(measured.value) or measured.high - measured.low > rounding:
        return measured
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    parts = [
        outcome_summary.estimate(outcome, group["value"], group["after"]).times(
            weights[group.index].sum()
        )
        for at, group in runs.groupby(x)
        if not np.isclose(at, x.mean())
    ]
    low, high = sum(part.low for part in parts), sum(part.high for part in parts)
    return measured._replace(low=min(low, measured.value), high=max(high, measured.value))


def _effect(outcome: Outcome, x: pd.Series, runs: pd.DataFrame) -> dict:
    """Return the effect of a parameter x on an outcome: rho, change, number of compared seeds."""
    strata, units = runs["stratum"], runs["unit"]
    shared = x.groupby([strata, units]).nunique()
    paired = shared[shared > 1].index.get_level_values("unit").nunique()
    rho = association.rank_correlation(x, runs["value"].fillna(np.inf), strata, units)
    change, note = _change(outcome, x, runs), ""
    if math.isnan(change.value):
        never = int(runs["value"].isna().sum())
        note = (
            f"{never} of {len(runs)} runs do not get there" if never else "too few runs to compare"
        )
    return {
        **_estimates("rho", rho),
        **_estimates("change", change),
        "n_paired": paired if paired > 2 else 0,
        "note": note,
    }


def _effects(outcome: Outcome, parameter: Swept, runs: pd.DataFrame) -> Rows:
    """Yield the effects of a parameter on an outcome; of words, one per value except the first."""
    places = runs[parameter.name]
    if not parameter.is_words:
        x = places.map(dict(enumerate(parameter.values))).astype(float)
        per = "decade" if parameter.is_log else "unit"
        yield {"per": per} | _effect(outcome, np.log10(x) if parameter.is_log else x, runs)
        return
    for other, text in enumerate(parameter.texts[1:], 1):
        compared = places.isin([0, other])
        x = (places[compared] == other).astype(float)
        yield {"per": f"{parameter.texts[0]} to {text}"} | _effect(outcome, x, runs[compared])


def table(study: Study) -> Rows:
    """Yield a row per experiment, outcome and swept parameter."""
    outcomes = parquet.read_table(study, "outcomes")
    for experiment, settings in study.config.experiments.items():
        points, sampled = study.experiment(experiment), bool(settings.sample)
        parameters = swept(points)
        # A parameter drawn at random has no value twice, and is independent of all others.
        grid = [p.name for p in parameters if not sampled or p.name in settings.sweep]
        runs = outcomes[outcomes["experiment"] == experiment]
        where = runs["run_id"].str.split("/").str[1]
        places = {p.name: where.map(p.places(points)) for p in parameters}
        # Units are seeds, or points if these are drawn at random.
        placed = runs.assign(**places | {"unit": where if sampled else runs["seed"]})
        for outcome in study.outcomes(settings.system):
            runs = placed[placed["outcome"] == outcome.name]
            for parameter in parameters:
                others = [name for name in grid if name != parameter.name]
                stratum = runs.groupby(others, dropna=False).ngroup() if others else 0
                for row in _effects(outcome, parameter, runs.assign(stratum=stratum)):
                    yield {
                        "experiment": experiment,
                        "system": settings.system,
                        "outcome": outcome.name,
                        "label": outcome.label,
                        "parameter": parameter.name,
                    } | row
