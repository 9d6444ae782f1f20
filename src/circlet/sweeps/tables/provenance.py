"""Table ``provenance``: code versions and machines that made the runs, with computing hours."""

import pandas as pd

from circlet.storage import parquet
from circlet.storage.schema import EXPERIMENT, column, names
from circlet.study.plan import Study

LOGS = ("runs",)
COLUMNS = [
    EXPERIMENT,
    column("system", "string", "what was trained or simulated"),
    column("commit", "string", "commit of the code; -dirty if it was edited since"),
    column("versions", "string", "versions of Python and of the packages that decide numbers"),
    column("machine", "string", "system, architecture and cores"),
    column("device", "string", "cpu, or the name of the GPU"),
    column("blocks", "int32", "blocks made so"),
    column("runs", "int32", "runs in them"),
    column("hours", "float64", "CPU time of the runs; on a GPU, time by the clock", "h"),
    column("interruptions", "int32", "how often they went on from a checkpoint"),
]


def table(study: Study) -> pd.DataFrame:
    """Return a row per experiment, code and machine."""
    columns = names(COLUMNS)
    keys = columns[: columns.index("blocks")]
    rows = []
    for block in study.blocks:
        runs, made = parquet.read_log(block, "runs"), parquet.footer(block.log("runs"))
        packages = ", ".join(f"{name} {v}" for name, v in made["versions"].items() if v)
        rows.append(
            {
                "experiment": block.point.experiment,
                "system": block.point.system.name,
                "commit": made["commit"] or "unknown",
                "versions": f"Python {made['python']}, {packages}",
                "machine": made["machine"],
                "device": runs["device"].iloc[0],
                "blocks": 1,
                "runs": len(runs),
                "hours": runs["seconds"].sum() / 3600,
                "interruptions": made["interruptions"],
            }
        )
    frame = pd.DataFrame(rows, columns=columns)
    return frame.groupby(keys, sort=True, as_index=False).sum()
