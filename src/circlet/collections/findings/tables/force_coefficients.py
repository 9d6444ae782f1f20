"""Table ``force_coefficients``: force strengths of the particle model, fitted to networks.

Coefficients are those of ``network_forces``, for a gradient of norm 1, averaged over the logged
steps of a window, so that steps count the same however small the gradient is. The strengths are
ratios of their sums over runs. They are null where attraction is not above 0 with 95 % certainty:
there is nothing to divide by.
"""

import pandas as pd

from circlet.analysis import log_frames, stats
from circlet.collections.findings import forces
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, POINT, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("network_forces",)
TABLES = ("network_forces",)
COLUMNS = [
    POINT,
    column("structure", "string", "at the end, as in network_forces; any: all runs"),
    column("pairs", "string", "pairs that the gradient is of: train, or all"),
    column("after", "int32", "the steps are above this"),
    column("until", "int32", "and at most this"),
    *(field for name in forces.FORCES for field in estimate(name, "coefficient, mean over runs")),
    *estimate("f_a", "alignment relative to attraction, at g_a = 1"),
    *estimate("g_r", "repulsion relative to attraction, at g_a = 1"),
    *COUNTS,
]

_WINDOWS = ((-1, 10), (10, 100), (100, 1000), (1000, 2**31 - 1))


def table(study: Study) -> Rows:
    """A row per point, structure, pairs and window of steps."""
    frame = parquet.read_table(study, "network_forces")
    frame = pd.concat([frame, frame.assign(structure="any")])
    names = [f"coefficient_{name}" for name in forces.FORCES]
    for point, row, of_point in log_frames.by_point(frame, study):
        for after, until in _WINDOWS:
            steps = of_point[(of_point["step"] > after) & (of_point["step"] <= until)]
            for (structure, pairs), rows in steps.groupby(["structure", "pairs"]):
                runs = rows.groupby("run_id")[names].mean().dropna()
                runs.columns = list(forces.FORCES)
                estimates = {name: stats.mean(runs[name]) for name in forces.FORCES}
                for strength, name in (("f_a", "alignment"), ("g_r", "repulsion")):
                    ratio = stats.ratio(runs[name].to_numpy(), runs["attraction"].to_numpy())
                    is_positive = estimates["attraction"].low > 0
                    estimates[strength] = ratio if is_positive else stats.Estimate(n=len(runs))
                yield {
                    **row,
                    "structure": structure,
                    "pairs": pairs,
                    "after": after,
                    "until": min(until, point.steps),
                    **stats.columns(estimates),
                    "n_runs": len(runs),
                    "n_planned": point.count,
                }
