"""Table ``contraction_settings``: kappa of each setting, over runs that grok.

kappa is that of ``delay_runs``.
"""

from collections.abc import Iterator

import pyarrow as pa

from circlet.analysis import stats
from circlet.collections.delays import settings
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, column, estimate
from circlet.study.plan import Study

OPTIONAL_ROLES = ("gelu_decays", "transformer_decays")
TABLES = ("delay_runs",)
COLUMNS = [
    *settings.COLUMNS,
    *estimate("kappa", "mean over runs"),
    column("variation", pa.float64(), "standard deviation over runs divided by the mean"),
    *COUNTS,
]


def table(study: Study) -> Iterator[dict]:
    """Yield a row per setting."""
    runs = parquet.read_table(study, "delay_runs")
    for role in OPTIONAL_ROLES:
        for keys, rows, planned in settings.by(study, role, runs, settings.NAMES):
            kappas = rows["kappa"].dropna()
            yield {
                "experiment": study.reproduce[role],
                **keys,
                **stats.mean(kappas).columns("kappa"),
                "variation": kappas.std() / kappas.mean(),
                "n_runs": len(rows),
                "n_planned": planned,
            }
