"""Table ``shared_law_elsewhere``: R^2 of a law at points that it was not fitted to.

The law is fitted to the role `shared_law` and scored on every point of `shared_law_elsewhere`, and
on the runs of its own point that it was not fitted to. For comparison the table has the law fitted
to each point itself.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pyarrow as pa

from circlet.analysis import log_frames
from circlet.analysis.stats import Estimate
from circlet.collections.findings import shared_laws
from circlet.collections.findings.tables.shared_laws import missed, r2
from circlet.storage.schema import POINT, column, estimate
from circlet.study.plan import Study

ROLES = ("shared_law",)
OPTIONAL_ROLES = ("shared_law_elsewhere",)
LOGS = ("runs", "signals")
TABLES = ()
COLUMNS = [
    POINT,
    column("first_step", pa.int32(), "of the window"),
    column("last_step", pa.int32(), "after the window"),
    column("law", pa.string(), "three_numbers or mean_field"),
    *estimate("r2", "pooled R^2 of the law of `shared_law` here"),
    *estimate("r2_own", "pooled R^2 of a law fitted here, on other runs"),
]
_LAWS = ("three_numbers", "mean_field")


def _scored(law: shared_laws.Law, runs: list[np.ndarray], window: tuple[int, int]) -> Estimate:
    return r2(*missed(law, runs, window))


def table(study: Study) -> Iterator[dict]:
    """A row per point, window and law."""
    source = next(shared_laws.halves(study, "shared_law"), None)
    if source is None:
        return
    _, source_runs, _ = source
    law = cache(lambda name, window: shared_laws.fit(name, source_runs, window))
    for role in study.reproduce:
        for point, fitted, scored in shared_laws.halves(study, role):
            for window in shared_laws.windows(min(len(source_runs[0]), len(scored[0])) - 1):
                for name in _LAWS:
                    refitted = shared_laws.fit(name, fitted, window)
                    yield {
                        **log_frames.keys(point, study),
                        "point": point.name,
                        "first_step": window[0],
                        "last_step": window[1],
                        "law": name,
                        **_scored(law(name, window), scored, window).columns("r2"),
                        **_scored(refitted, scored, window).columns("r2_own"),
                    }
