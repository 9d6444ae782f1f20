"""Table ``milestones``: steps at which each run memorises and generalises, and the delay.

The config declares the events (``milestones``, `circlet.study.milestones`). The step of an event is
only known to lie between two logged steps: NAME is the first logged step at which it is seen,
NAME_after the last one before, at which it is not. A delay has the shortest (at least 0) and the
longest time between two such intervals.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
from msgspec import UNSET

from circlet.analysis import log_frames
from circlet.storage.schema import RUN, SEED, Frames, column
from circlet.study import milestones
from circlet.study.plan import Study

LOGS = ("runs", "curves")
CONFIG = ("milestones",)
COLUMNS = [RUN, SEED]

Interval = tuple[np.ndarray, np.ndarray]
"""Last step before and first step after an event, for every run; NaN where there is none."""


def columns(study: Study) -> list[pa.Field]:
    """Return the columns: two for each milestone."""
    fields = []
    for name, milestone in milestones.of_config(study.config).items():
        earliest, latest = "last logged step before", "first logged step at which it is seen"
        if milestone.start:
            earliest, latest = "shortest possible delay", "longest possible delay"
        fields += [
            column(f"{name}_after", "float64", earliest, "steps"),
            column(name, "float64", f"{latest}; null: never", "steps"),
        ]
    return [*COLUMNS, *fields]


def crossing(steps: np.ndarray, holds: np.ndarray) -> Interval:
    """Return when something first holds, from ``holds`` (runs, steps) at logged steps.

    If it holds at once, at step 0, both ends are 0.
    """
    ever, first = holds.any(1), holds.argmax(1)
    before = np.where(ever, np.maximum(first - 1, 0), len(steps) - 1)
    return steps[before].astype(float), np.where(ever, steps[first], np.nan)


def delay(start: Interval, end: Interval) -> Interval:
    """Return the shortest and the longest time from one interval to another.

    Without an end, the delay lasts at least until the last step; without a start nothing is known.
    """
    (after, by), (end_after, end_by) = start, end
    shortest = np.where(np.isnan(by), np.nan, np.maximum(end_after - by, 0))
    return shortest, np.maximum(end_by - after, 0) + 0 * by


def table(study: Study) -> Frames:
    """Yield frames with a row per finished run of systems with milestones and logged curves."""
    for block in study.blocks:
        seen = milestones.of_system(study.config, block.point.system)
        if not seen or "curves" not in block.point.logs:
            continue
        curves = log_frames.finished(block, "curves").sort_values(["run_id", "step"])
        if curves.empty:
            continue
        run_ids, steps = curves["run_id"].unique(), np.sort(curves["step"].unique())
        intervals: dict[str, Interval] = {}
        for name, milestone in sorted(seen.items(), key=lambda item: bool(item[1].start)):
            if milestone.start and milestone.end:
                intervals[name] = delay(intervals[milestone.start], intervals[milestone.end])
                continue
            values = curves[milestone.metric].to_numpy(float).reshape(len(run_ids), len(steps))
            above, below = milestone.above, milestone.below
            intervals[name] = crossing(steps, values < below if above is UNSET else values > above)
        ends = {f"{name}_after": after for name, (after, _) in intervals.items()}
        steps_by = {name: by for name, (_, by) in intervals.items()}
        frame = pd.DataFrame({"run_id": run_ids} | ends | steps_by)
        yield frame.reindex(columns=[f.name for f in columns(study) if f.name != "seed"])
