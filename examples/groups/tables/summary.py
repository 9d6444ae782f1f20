"""Table ``groups.summary``: how many runs of a group generalise, and with how many survivors."""

from collections.abc import Iterator

from circlet.analysis import log_frames, stats
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, POINT, estimate
from circlet.study.plan import Study

SYSTEMS = ("groups.mlp",)
TABLES = ("groups.outcomes",)
COLUMNS = [
    POINT,
    *estimate("generalised", "share of runs with a test accuracy above 0.99", "0..1"),
    *estimate("survivors", "mean number of nontrivial representations that survive"),
    *estimate("parts_agree", "share of runs in which the same survive in all three parts", "0..1"),
    *COUNTS,
]


def table(study: Study) -> Iterator[dict]:
    """A row per point; shares with Wilson's interval, the mean with Student's."""
    outcomes = parquet.read_table(study, "groups.outcomes")
    for point, row, runs in log_frames.by_point(outcomes, study):
        for name in ("generalised", "parts_agree"):
            row |= stats.share(*stats.counted(runs[name])).columns(name)
        row |= stats.mean(runs["n_survivors"]).columns("survivors")
        yield row | {"n_runs": len(runs), "n_planned": point.count}
