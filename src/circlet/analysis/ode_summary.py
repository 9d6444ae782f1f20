"""Table ``ode_summary``: the fits over the runs of each dimension (figure 9 a)."""

import numpy as np
import pandas as pd

from circlet import io
from circlet.analysis import ode, stats
from circlet.plan import Study

OPTIONAL_ROLES = ("trajectory", "ode_dimensions")
TABLES = ("ode_fits",)


def table(study: Study) -> pd.DataFrame:
    """A row per experiment, dimension and method."""
    rows = []
    fitted = io.read_table(study, "ode_fits").query("status == 'fitted'")
    for experiment in study.config["experiments"]:
        fits = fitted[fitted["experiment"] == experiment]
        for point in study.experiment(experiment):
            d, count = point.parameters["d"], point.count
            for method in ode.METHODS:
                runs = fits[(fits["d"] == d) & (fits["method"] == method)]
                relative = runs["rollout_error"] / runs["mean_signal"]
                unstable = stats.count(int((runs["growth"] > 1).sum()), runs["growth"].count())
                rows.append(
                    {
                        "experiment": experiment,
                        "d": d,
                        "method": method,
                        **stats.mean(runs["r2"].to_numpy(float)).columns("r2"),
                        **stats.mean(100 * runs["nonzero"].to_numpy(float)).columns("nonzero"),
                        "r2_heldout": _median(runs["r2_heldout"]),
                        "relative_rollout_error": _median(relative),
                        **unstable.columns("unstable"),
                        "n_runs": len(runs),
                        "n_planned": count,
                    }
                )
    return pd.DataFrame(rows)


def _median(values: pd.Series) -> float:
    known = values.dropna()
    return float(np.median(known)) if len(known) else np.nan
