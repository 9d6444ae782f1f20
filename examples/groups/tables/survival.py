"""Table ``groups.survival``: how often each representation of a group survives."""

from collections.abc import Iterator

import pyarrow as pa

from circlet.analysis import log_frames, stats
from circlet.collections.groups import representations, subgroups, survivors
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, POINT, column, estimate
from circlet.study.plan import Study

SYSTEMS = ("groups.mlp",)
TABLES = ("groups.signals",)
COLUMNS = [
    POINT,
    column("part", pa.string(), "left or right (embedding), or output (weights by product)"),
    column("representation", pa.string(), "dimension and letter; 1a is trivial"),
    column("dimension", pa.int32(), "d_rho, of each of a complex pair"),
    column("is_pair", pa.bool_(), "whether it stands for a complex pair"),
    column("kernel", pa.int32(), "elements that it maps to the identity; 1: faithful"),
    column("cosets", pa.int32(), "the fewest cosets of a subgroup with a function in it"),
    *estimate("survived", "share of runs in which it survives", "0..1"),
    *estimate("relative", "mean of its relative signal at the last step"),
    *COUNTS,
]


def table(study: Study) -> Iterator[dict]:
    """A row per point, part and representation; shares with Wilson's interval."""
    signals = parquet.read_table(study, "groups.signals")
    for point, row, rows in log_frames.by_point(signals, study):
        group = representations.of(point.parameters["group"])
        last = rows[rows["step"] == point.steps]
        cosets = subgroups.fewest_cosets(group)
        for part in ("left", "right", "output"):
            for i, name in enumerate(group.names):
                is_own = (last["part"] == part) & (last["representation"] == name)
                relative = last.loc[is_own, "relative"]
                alive = survivors.survives(relative)
                yield {
                    **row,
                    "part": part,
                    "representation": name,
                    "dimension": group.dimensions[i],
                    "is_pair": group.is_pair[i],
                    "kernel": group.kernels[i],
                    "cosets": cosets[i],
                    **stats.share(*stats.counted(alive)).columns("survived"),
                    **stats.mean(relative).columns("relative"),
                    "n_runs": len(relative),
                    "n_planned": point.count,
                }
