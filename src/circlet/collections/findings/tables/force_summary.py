"""Table ``force_summary``: means of ``network_forces`` over runs, per final structure and step."""

import numpy as np
import pandas as pd

from circlet.analysis import log_frames, stats
from circlet.collections.findings import forces
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, POINT, STEP, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("network_forces",)
TABLES = ("network_forces",)
COLUMNS = [
    POINT,
    column("structure", "string", "at the end, as in network_forces; any: all runs"),
    column("pairs", "string", "pairs that the gradient is of: train, or all"),
    STEP,
    column("measure", "string", "r2, or cosine with the name of a force"),
    *estimate("value", "mean over runs"),
    *estimate("null", "mean over runs, and in each over other labellings of the numbers"),
    *estimate("excess", "mean over runs of the value minus that with other labels"),
    *estimate("above", "share of runs above 97.5 % of the other labellings", "0..1"),
    *COUNTS,
]

_MEASURES = ("r2", *(f"cosine_{name}" for name in forces.FORCES))


def table(study: Study) -> Rows:
    """A row per point, structure, pairs, step and measure."""
    frame = parquet.read_table(study, "network_forces")
    frame = pd.concat([frame, frame.assign(structure="any")])
    nulls, highs = ([f"{name}_{end}" for name in _MEASURES] for end in ("null", "null_high"))
    for point, keys, of_point in log_frames.by_point(frame, study):
        for group, runs in of_point.groupby(["structure", "pairs", "step"]):
            value, null, high = (
                runs[names].to_numpy(float).T for names in ([*_MEASURES], nulls, highs)
            )
            has_value = ~np.isnan(value)
            estimates = {
                "value": stats.means(value),
                "null": stats.means(null),
                "excess": stats.means(value - null),
            }
            for i, name in enumerate(_MEASURES):
                above = stats.share(*stats.counted((value > high)[i, has_value[i]]))
                row = keys | dict(zip(("structure", "pairs", "step"), group, strict=True))
                row |= {"measure": name, "n_runs": len(runs), "n_planned": point.count}
                for part, means in estimates.items():
                    row |= stats.Estimate(*means.iloc[i]).columns(part)
                yield row | above.columns("above")
