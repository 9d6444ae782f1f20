"""Table ``grokked_shares``: share of runs that grok within their steps, at each setting."""

from collections.abc import Iterator

from circlet.analysis import stats
from circlet.collections.delays import settings
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, estimate
from circlet.study.plan import Study

OPTIONAL_ROLES = ("mlp_decays", "gelu_decays", "transformer_decays")
TABLES = ("milestones",)
COLUMNS = [
    *settings.COLUMNS,
    *estimate("grokked", "share of runs that grok (Clopper and Pearson)", "0..1"),
    *estimate("median", "median step of grokking (Kaplan and Meier)", "steps"),
    *estimate("median_delay", "median delay after memorising (Kaplan and Meier)", "steps"),
    *COUNTS,
]


def table(study: Study) -> Iterator[dict]:
    """Yield a row per role and setting."""
    runs = parquet.read_table(study, "milestones")
    for role in OPTIONAL_ROLES:
        for keys, rows, planned in settings.by(study, role, runs, settings.NAMES):
            times = {name: settings.times(rows, name, "weight_decay") for name in settings.TIMES}
            grok, delay = (stats.median_time(t["after"], t["by"]) for t in times.values())
            grokked = stats.counted(rows["generalised_step"].notna())
            yield {
                "experiment": study.reproduce[role],
                **keys,
                **stats.share(*grokked, method="exact").columns("grokked"),
                **grok.columns("median"),
                **delay.columns("median_delay"),
                "n_runs": len(rows),
                "n_planned": planned,
            }
