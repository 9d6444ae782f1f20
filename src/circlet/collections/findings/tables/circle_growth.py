"""Table ``circle_growth``: models of the number of circles as a function of p.

The mean number of circles is modelled as a constant, and as a line in p, in the square root of p
and in ln p, by least squares over runs. Models are compared by their error on held-out moduli.
Moduli above d are left out: their embeddings have fewer dimensions than numbers, which limits
circles, too.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.analysis import association, stats
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, column, estimate
from circlet.study.plan import Study

ROLES = ("circle_growth",)
TABLES = ("circle_counts",)
COLUMNS = [
    EXPERIMENT,
    column("model", pa.string(), "constant, linear (in p), square_root or logarithmic"),
    *estimate("slope", "circles per unit of p, of its root, or of ln p; n: runs"),
    *estimate("correlation", "r over runs of circles with the same; n: seeds"),
    *estimate("slope_ratio", "slope from the middle modulus on divided by that up to it; n: seeds"),
    column("intercept", pa.float64(), "circles at p = 0, or at p = 1 if logarithmic"),
    column("r2", pa.float64(), "of the means of these moduli"),
    column("error_left_out", pa.float64(), "root mean square error of a modulus that is left out"),
    column("n_moduli", pa.int32(), "moduli up to d"),
    *COUNTS,
]
_MODELS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "constant": np.zeros_like,
    "linear": np.asarray,
    "square_root": np.sqrt,
    "logarithmic": np.log,
}


def left_out(x: np.ndarray, y: np.ndarray) -> float:
    """Return the RMS error of predicting each mean y by the line (or mean) of the others."""
    misses = []
    for i in range(len(x)):
        others = np.arange(len(x)) != i
        degree = int(np.ptp(x[others]) > 0)
        misses.append(y[i] - np.polyval(np.polyfit(x[others], y[others], degree), x[i]))
    return float(np.sqrt(np.mean(np.square(misses))))


def slope_ratio(x: np.ndarray, counts: pd.DataFrame) -> stats.Estimate:
    """Divide the slope of circles in x from the middle modulus on by that up to it; NaN unless > 0.

    The jackknife leaves out one seed at a time.
    """
    middle = np.median(np.unique(x))

    def ratio(kept: np.ndarray) -> float:
        above, below = (
            np.polyfit(x[half], counts["n_circles"][half], 1)[0]
            for half in (kept & (x >= middle), kept & (x <= middle))
        )
        return above / below if below > 0 else np.nan

    seeds = counts["seed"].unique()
    if len(seeds) < 3:
        return stats.Estimate(n=len(seeds))
    parts = np.array([ratio((counts["seed"] != seed).to_numpy()) for seed in seeds])
    return stats.jackknife(ratio(np.ones(len(x), bool)), parts)


def table(study: Study) -> Iterator[dict]:
    """A row per model."""
    counts = parquet.read_table(study, "circle_counts", "circle_growth")
    counts = counts[counts["p"] <= counts["d"]]
    name = study.reproduce["circle_growth"]
    points = [p for p in study.experiment(name) if p.parameters["p"] <= p.parameters["d"]]
    means = counts.groupby("p")["n_circles"].mean()
    if len(means) < 4:
        return
    p, y = means.index.to_numpy(float), means.to_numpy(float)
    for model, transform in _MODELS.items():
        x, by_run = transform(p), transform(counts["p"].to_numpy(float))
        degree = int(np.ptp(x) > 0)
        line = np.polyfit(x, y, degree)
        miss = y - np.polyval(line, x)
        slope, correlation = stats.Estimate(n=len(counts)), stats.Estimate()
        bend = stats.Estimate()
        if degree:
            circles, seeds = counts["n_circles"], counts["seed"]
            slope = association.slope(by_run, circles, np.zeros(len(counts)), seeds)
            correlation = association.correlation_over_units(by_run, circles, seeds)
            bend = slope_ratio(by_run, counts)
        yield {
            "experiment": name,
            "model": model,
            **slope.columns("slope"),
            **correlation.columns("correlation"),
            **bend.columns("slope_ratio"),
            "intercept": float(line[-1]),
            "r2": float(1 - (miss**2).sum() / ((y - y.mean()) ** 2).sum()),
            "error_left_out": left_out(x, y),
            "n_moduli": len(means),
            "n_runs": len(counts),
            "n_planned": sum(point.count for point in points),
        }
