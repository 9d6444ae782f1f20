"""Table ``runs``: seeds, status, final metrics, computing time and device of each run."""

import pyarrow as pa

from circlet.analysis import log_frames
from circlet.storage import parquet
from circlet.storage.schema import RUN, Frames, column, outcome
from circlet.study.plan import Study

LOGS = ("runs",)
COLUMNS = [RUN, column("commit", "string", "version of the code that made it")]


def columns(study: Study) -> list[pa.Field]:
    """Return the columns, with the metrics of the study's systems."""
    run, *others = COLUMNS
    return [run, *outcome(study.specs[name] for name in study.systems), *others]


def table(study: Study) -> Frames:
    """Yield frames with seeds, outcome, cost and code of every run."""
    for block in study.blocks:
        commit = parquet.footer(block.log("runs")).get("commit")
        yield log_frames.named(parquet.read_log(block, "runs"), block).assign(commit=commit)
