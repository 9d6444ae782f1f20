"""Table ``groups.outcomes``: whether a run generalises, and which representations survive in it."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from circlet.analysis import log_frames
from circlet.collections.groups import representations, survivors
from circlet.storage import parquet
from circlet.storage.schema import RUN, column
from circlet.study.plan import Study

SYSTEMS = ("groups.mlp",)
LOGS = ("runs", "curves")
TABLES = ("groups.signals",)
COLUMNS = [
    RUN,
    column("test_accuracy", pa.float64(), "at the last step", "0..1"),
    column("generalised", pa.bool_(), "test accuracy above 0.99 at the last step"),
    column("fit_step", pa.int32(), "first logged step with a test accuracy above 0.99"),
    column("survivors", pa.string(), "nontrivial ones in the left embedding, by name"),
    column("n_survivors", pa.int32(), "their number"),
    column("kernel", pa.int32(), "elements that no survivor distinguishes from the identity"),
    column("parts_agree", pa.bool_(), "the same survive in the left, the right and the output"),
]

_ENOUGH = 0.99
_PARTS = ("left", "right", "output")


def table(study: Study) -> Iterator[dict]:
    """A row per finished run."""
    signals = parquet.read_table(study, "groups.signals")
    others = signals[signals["representation"] != "1a"]
    by_run = dict(list(others[survivors.survives(others["relative"])].groupby("run_id")))
    for block in study.blocks:
        group = representations.of(block.point.parameters["group"])
        curves = log_frames.finished(block, "curves").sort_values("step")
        for run_id, curve in curves.groupby("run_id"):
            accuracy = curve.set_index("step")["test_accuracy"]
            fitted = accuracy.index[accuracy > _ENOUGH]
            last = by_run[run_id][by_run[run_id]["step"] == block.point.steps]
            sets = [list(last.loc[last["part"] == part, "representation"]) for part in _PARTS]
            yield {
                "run_id": run_id,
                "test_accuracy": accuracy.iloc[-1],
                "generalised": accuracy.iloc[-1] > _ENOUGH,
                "fit_step": fitted[0] if len(fitted) else None,
                "survivors": " ".join(sets[0]),
                "n_survivors": len(sets[0]),
                "kernel": group.in_kernel[np.isin(group.names, sets[0])].all(0).sum(),
                "parts_agree": sets[0] == sets[1] == sets[2],
            }
