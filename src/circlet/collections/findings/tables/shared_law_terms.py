"""Table ``shared_law_terms``: coefficients of the shared laws, per window of steps."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from circlet.analysis import log_frames, stats
from circlet.collections.findings import shared_laws
from circlet.storage.schema import COUNTS, POINT, column, estimate
from circlet.study.plan import Study

OPTIONAL_ROLES = ("shared_law", "shared_law_elsewhere")
LOGS = ("runs", "signals")
TABLES = ()
COLUMNS = [
    POINT,
    column("first_step", pa.int32(), "of the window"),
    column("last_step", pa.int32(), "after the window"),
    column("law", pa.string(), "three_numbers, mean_field or equivariant"),
    column("term", pa.string(), "what the coefficient stands before; r=2: the signal of k / 2"),
    *estimate("coefficient", "of a fit to all runs of the point; jackknife over runs"),
    *COUNTS,
]
_LAWS = ("three_numbers", "mean_field", "equivariant")


def table(study: Study) -> Iterator[dict]:
    """A row per point, window, law and term."""
    for role in study.reproduce:
        for point, fitted, scored in shared_laws.halves(study, role):
            runs = fitted + scored
            for window in shared_laws.windows(len(fitted[0]) - 1):
                for name in _LAWS:
                    law = shared_laws.fit(name, fitted, window)  # only its terms are used
                    parts = [
                        shared_laws.sums(law.form, *shared_laws.inside(x, window)) for x in runs
                    ]
                    all_sums = shared_laws.total(parts)
                    whole = all_sums.solve()[:, 0]
                    without = np.stack([(all_sums - part).solve()[:, 0] for part in parts])
                    for i, term in enumerate(law.form.terms):
                        yield {
                            **log_frames.keys(point, study),
                            "point": point.name,
                            "first_step": window[0],
                            "last_step": window[1],
                            "law": name,
                            "term": term,
                            **stats.jackknife(float(whole[i]), without[:, i])
                            ._replace(n=len(runs))
                            .columns("coefficient"),
                            "n_runs": len(runs),
                            "n_planned": point.count,
                        }
