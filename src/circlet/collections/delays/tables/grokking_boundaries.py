"""Table ``grokking_boundaries``: the weight decay at which half of the runs grok in time.

A logistic regression of whether a run groks within its steps on the logarithm of the weight decay,
up to the decay at which most runs grok: beyond, decay may prevent learning. If fewer than two
decays have runs that grok beside runs that do not, a slope cannot be fitted. Then the boundary lies
between two values of the sweep, and its interval between two whose shares are surely below and
above a half.
"""

import math
import warnings

import numpy as np
import pandas as pd

from circlet.analysis import log_frames, stats
from circlet.analysis.stats import Estimate, Z
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate, names
from circlet.study.plan import Study

OPTIONAL_ROLES = ("mlp_decays", "gelu_decays", "transformer_decays")
TABLES = ("milestones",)
COLUMNS = [
    EXPERIMENT,
    column("system", "string", "the network"),
    column("p", "int32", "modulus"),
    column("learning_rate", "float64", "learning rate"),
    column("steps", "int32", "the last step"),
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
    shares = shares[shares.index <= shares.idxmax()]
    if shares.between(0, 1, inclusive="neither").sum() < 2:
        each = grokked[rising].groupby(decay[rising])
        intervals = {k: stats.share(int(runs.sum()), len(runs), "exact") for k, runs in each}
        above = shares[shares > 0.5].index.min()
        below = shares[shares.index < above].index.max()
        low = max((k for k, share in intervals.items() if share.high < 0.5), default=math.nan)
        high = min((k for k, share in intervals.items() if share.low > 0.5), default=math.nan)
        return Estimate(math.sqrt(below * above), low, high, n)
    import statsmodels.api as sm

    with warnings.catch_warnings():  # decays at which all or none grok are predicted perfectly
        warnings.simplefilter("ignore")
        fitted = sm.GLM(y, sm.add_constant(x), family=sm.families.Binomial()).fit()
    constant, slope = fitted.params
    gradient = np.array([-1 / slope, constant / slope**2])
    half = Z * math.sqrt(gradient @ fitted.cov_params().to_numpy() @ gradient)
    middle = -constant / slope
    return Estimate(middle, middle - half, middle + half, n).mapped(math.exp)


def table(study: Study) -> Rows:
    """Yield a row per role, modulus and learning rate with three or more weight decays."""
    for row, runs in log_frames.groups(study, "milestones", names(COLUMNS), OPTIONAL_ROLES):
        if runs["weight_decay"].nunique() < 3:
            continue
        decay = boundary(runs["weight_decay"], runs["generalised_step"].notna())
        steps = study.experiment(row["experiment"])[0].steps
        yield row | {"steps": steps, **decay.columns("boundary")}
