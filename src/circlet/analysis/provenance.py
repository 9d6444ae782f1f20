"""Table ``provenance``: which code, on which machines, made the runs, and in how many hours."""

import pandas as pd

from circlet import io, tables
from circlet.plan import Study

LOGS = ("runs",)
TABLES = ()


def table(study: Study) -> pd.DataFrame:
    """A row per system, code and machine."""
    columns = tables.names("provenance")
    keys = columns[: columns.index("blocks")]
    rows = []
    for block in study.blocks:
        runs, made = io.read_log(block, "runs"), io.footer(block.log("runs"))
        packages = ", ".join(f"{name} {v}" for name, v in made["versions"].items() if v)
        rows.append(
            {
                "system": block.point.system,
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
