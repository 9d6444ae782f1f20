"""Table ``head_summary``: how often the runs of each point of ``sparse_transformer`` succeed."""

from collections.abc import Iterator

from circlet.analysis import log_frames, stats
from circlet.collections.odonnat import success
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, POINT, estimate
from circlet.study.plan import Study

SYSTEMS = ("sparse_transformer",)
TABLES = ("heads",)
COLUMNS = [
    POINT,
    *estimate("success", "share of runs with a last test accuracy above 0.98", "0..1"),
    *estimate("stuck", "share with one below 0.6, stuck at chance for p = 2", "0..1"),
    *estimate("test_accuracy", "mean over runs, at the last step", "0..1"),
    *estimate("head", "share of runs with a head; of p = 2", "0..1"),
    *estimate("head_of_success", "share of the successes with a head; of p = 2", "0..1"),
    *estimate("clustered", "share of runs with a cluster per histogram", "0..1"),
    *COUNTS,
]


def table(study: Study) -> Iterator[dict]:
    """A row per point."""
    for point, keys, runs in log_frames.by_point(parquet.read_table(study, "heads"), study):
        successes = runs["success"].astype(bool)
        shares = {
            "success": successes,
            "stuck": runs["test_accuracy"] < success.STUCK,
            "head": runs["head_present"].dropna(),
            "head_of_success": runs.loc[successes, "head_present"].dropna(),
            "clustered": runs["clustered"],
        }
        row = keys | stats.mean(runs["test_accuracy"]).columns("test_accuracy")
        for name, holds in shares.items():
            row |= stats.share(*stats.counted(holds)).columns(name)
        yield row | {"n_runs": len(runs), "n_planned": point.count}
