"""Table ``marginals``: each outcome per value of a parameter, averaged over other parameters.

A bin is a value of the parameter or, for numbers with more than twelve values, an eighth of the
runs. Estimates are those of ``outcome_summary``, over all runs in a bin; their intervals assume
independent runs. Where settings share seeds, ``effects`` compares runs by seed.
"""

import numpy as np
import pandas as pd

from circlet.storage import parquet
from circlet.storage.schema import EXPERIMENT, Rows, column, interval
from circlet.study.plan import Study
from circlet.study.swept import Swept, swept
from circlet.sweeps.tables import outcome_summary

TABLES = ("outcomes",)
CONFIG = ("milestones", "derived_metrics")
COLUMNS = [
    EXPERIMENT,
    column("outcome", "string", "what it is called"),
    column("parameter", "string", "what is swept"),
    column("bin", "int32", "0, 1, ... in the order of values"),
    column("value", "string", "the value, or the range of values, as text"),
    column("x", "float64", "mean of the values of the runs in the bin; null of words"),
    *interval("share, mean, or of times the median"),
    column("n_runs", "int32", "runs in the bin"),
]

_MAX_VALUES, _BINS = 12, 8


def bins(parameter: Swept, places: pd.Series) -> tuple[pd.Series, list[str]]:
    """Return the bin of each run, from the index of its value, and the text of each bin."""
    if parameter.is_words or len(parameter.values) <= _MAX_VALUES:
        return places, list(parameter.texts)
    edges = np.quantile(places, np.linspace(0, 1, _BINS + 1)[1:-1])
    numbers = pd.Series(np.searchsorted(edges, places, "right"), places.index)
    ends = places.groupby(numbers).agg(["min", "max"]).reindex(range(_BINS)).fillna(0).astype(int)
    return numbers, [f"{parameter.texts[a]} to {parameter.texts[b]}" for a, b in ends.to_numpy()]


def table(study: Study) -> Rows:
    """Yield a row per experiment, outcome, swept parameter and bin."""
    outcomes = parquet.read_table(study, "outcomes")
    for experiment, settings in study.config.experiments.items():
        points = study.experiment(experiment)
        of_experiment = outcomes[outcomes["experiment"] == experiment]
        if of_experiment.empty:
            continue
        point = of_experiment["run_id"].str.split("/").str[1]
        for parameter in swept(points):
            places = point.map(parameter.places(points))
            numbers, texts = bins(parameter, places)
            x = np.nan if parameter.is_words else np.array(parameter.values)[places]
            placed = of_experiment.assign(bin=numbers, x=x)
            for outcome in study.outcomes(settings.system):
                runs = placed[placed["outcome"] == outcome.name]
                for number, part in runs.groupby("bin"):
                    summary = outcome_summary.row(outcome, part)
                    yield {
                        "experiment": experiment,
                        "outcome": outcome.name,
                        "parameter": parameter.name,
                        "bin": number,
                        "value": texts[int(number)],
                        "x": part["x"].mean(),
                        **{name: summary[name] for name in ("estimate", "low", "high", "n_runs")},
                    }
