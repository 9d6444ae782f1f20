"""Table ``comparisons``: difference in each outcome between two parameter values (``compare``).

At each value of all other swept parameters, runs with the same seed are compared, so that what they
share by their seed drops out (`circlet.analysis.contrasts.paired_difference`); for times the table
has the median of the pairs' differences (`paired_delay`). Where seeds pair no runs, or all
differences are equal, the ends are those of two estimates as in ``outcome_summary``. Intervals of
times include the uncertainty from logging only at intervals. Null: an end is unbounded.
"""

import math

import pandas as pd

from circlet.analysis import contrasts
from circlet.analysis.stats import Estimate
from circlet.storage import parquet
from circlet.storage.schema import EXPERIMENT, Rows, column, interval
from circlet.study.plan import Study
from circlet.study.swept import pairs, text
from circlet.sweeps.tables import outcome_summary
from circlet.systems.spec import Outcome

TABLES = ("outcomes",)
CONFIG = ("milestones", "derived_metrics")
COLUMNS = [
    EXPERIMENT,
    column("parameter", "string", "what is compared"),
    column("first", "string", "its first value"),
    column("second", "string", "its second value"),
    column("at", "string", "values of the other swept parameters, as text"),
    column("outcome", "string", "what it is called"),
    column("label", "string", "the outcome in words"),
    *interval("difference of means or shares, or median difference of times; second - first"),
    column("n_paired", "int32", "pairs of runs of one seed; 0 if they are not paired"),
    column("n_first", "int32", "runs at the first value"),
    column("n_second", "int32", "runs at the second value"),
]


def difference(outcome: Outcome, first: pd.DataFrame, second: pd.DataFrame) -> dict:
    """Return how an outcome differs between two sets of runs, rows of ``outcomes``."""
    estimate, paired = _difference(outcome, *(rows.set_index("seed") for rows in (first, second)))
    ends = [x if math.isfinite(x) else None for x in estimate[:3]]
    return {
        "outcome": outcome.name,
        "label": outcome.label,
        **dict(zip(("estimate", "low", "high"), ends, strict=True)),
        "n_paired": paired,
        "n_first": len(first),
        "n_second": len(second),
    }


def _difference(outcome: Outcome, a: pd.DataFrame, b: pd.DataFrame) -> tuple[Estimate, int]:
    """Return the difference, and the number of pairs behind it."""
    if outcome.kind == "time":
        estimate, paired = contrasts.paired_delay(
            (a["after"], a["value"]), (b["after"], b["value"])
        )
    else:
        is_share = outcome.kind == "share"
        estimate, paired = contrasts.paired_difference(
            a["value"], b["value"], outcome.reach, is_share
        )
    is_bounded = math.isfinite(estimate.low) or math.isfinite(estimate.high)
    if is_bounded or (paired and outcome.kind == "time"):
        return estimate, paired
    if a.empty or b.empty:
        return Estimate(), 0
    if paired:
        common = a.index.intersection(b.index)
        a, b = a.loc[common], b.loc[common]
    estimates = (outcome_summary.estimate(outcome, rows["value"], rows["after"]) for rows in (a, b))
    return contrasts.apart(*estimates), paired


def table(study: Study) -> Rows:
    """Yield a row per experiment, comparison, setting of the other parameters, and outcome."""
    outcomes = parquet.read_table(study, "outcomes")
    outcomes["point"] = outcomes["run_id"].str.rsplit("/", n=1).str[0]
    rows = dict(list(outcomes.groupby(["point", "outcome"])))
    for experiment, settings in study.config.experiments.items():
        for name, ends in settings.compare.items():
            for first, second, at in pairs(study.experiment(experiment), name, ends):
                for outcome in study.outcomes(settings.system):
                    samples = [
                        rows.get((f"{experiment}/{p.name}", outcome.name), outcomes.iloc[:0])
                        for p in (first, second)
                    ]
                    yield {
                        "experiment": experiment,
                        "parameter": name,
                        "first": text(ends[0]),
                        "second": text(ends[1]),
                        "at": at,
                    } | difference(outcome, *samples)
