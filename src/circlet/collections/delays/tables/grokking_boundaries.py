"""Table ``grokking_boundaries``: the weight decay at which half of the runs grok in time.

A logistic regression of whether a run groks within its steps on the logarithm of the weight decay,
up to the decay at which most runs grok: beyond, decay may prevent learning. If no decay has some
runs that grok and some that do not, the boundary lies between two values of the sweep.
"""

import math
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.analysis.stats import Estimate, Z
from circlet.collections.delays import settings
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, column, estimate
from circlet.study.plan import Study

OPTIONAL_ROLES = ("mlp_decays", "gelu_decays", "transformer_decays")
TABLES = ("milestones",)
COLUMNS = [
    EXPERIMENT,
    column("system", pa.string(), "the network"),
    column("p", pa.int32(), "modulus"),
    column("learning_rate", pa.float64(), "learning rate"),
    column("steps", pa.int32(), "the last step"),
    *estimate("boundary", "weight decay at which half of the runs grok; n: runs"),
    *COUNTS,
]


def boundary(decay: pd.Series, grokked: pd.Series) -> Estimate:
    """Return the decay at which half of the runs grok, with the interval of the delta method."""
    shares = grokked.groupby(decay).mean()
    rising = decay <= shares.idxmax()
    x, y = np.log(decay[rising]), grokked[rising].astype(float)
    n = len(y)
    if shares.max() <= 0.5 or shares.iloc[0] > 0.5:
        return Estimate(n=n)  # outside of the sweep
    if not shares[shares.index <= shares.idxmax()].between(0, 1, inclusive="neither").any():
        below, above = x[y == 0].max(), x[y == 1].min()
        return Estimate((below + above) / 2, below, above, n).mapped(math.exp)
    import statsmodels.api as sm

    with warnings.catch_warnings():  # decays at which all or none grok are predicted perfectly
        warnings.simplefilter("ignore")
        fitted = sm.GLM(y, sm.add_constant(x), family=sm.families.Binomial()).fit()
    constant, slope = fitted.params
    gradient = np.array([-1 / slope, constant / slope**2])
    half = Z * math.sqrt(gradient @ fitted.cov_params().to_numpy() @ gradient)
    middle = -constant / slope
    return Estimate(middle, middle - half, middle + half, n).mapped(math.exp)


def table(study: Study) -> Iterator[dict]:
    """Yield a row per role, modulus and learning rate with three or more weight decays."""
    runs = parquet.read_table(study, "milestones")
    for role in settings.DECAYS:
        for keys, rows, planned in settings.by(study, role, runs, ["p", "learning_rate"]):
            if rows["weight_decay"].nunique() < 3:
                continue
            found = boundary(rows["weight_decay"], rows["generalised_step"].notna())
            yield {
                "experiment": study.reproduce[role],
                **keys,
                "steps": study.experiment(study.reproduce[role])[0].steps,
                **found.columns("boundary"),
                "n_runs": len(rows),
                "n_planned": planned,
            }
