"""Table ``explorer_runs``: result of each run, such as circle, and what the explorer shows of it.

A collection names the outcomes of its runs in ``run_list.py``. The function ``runs(study)`` there
returns a frame, made from its ``TABLES``, with a row per finished run and the columns ``run_id``,
``outcome`` and those declared in ``COLUMNS``. An optional column ``named`` says whether a figure
shows the run or the run is among the best: such runs come first, as does the run of each point with
the highest test accuracy. An optional column ``moments`` lists events of the training, each a
dictionary with ``step`` and ``text``: the explorer links to these steps and has the states nearest
to them. Without a ``run_list.py``, the outcome is the status of the run: finished, diverged or no
parent.
"""

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.errors import ConfigError
from circlet.lazy_import import load
from circlet.storage import parquet
from circlet.storage.schema import RUN, SEED, column, metrics, names
from circlet.study import contributions
from circlet.study.plan import Study
from circlet.study.registry import path_of
from circlet.sweeps import explorer_budget

TABLES = ("runs",)
COLLECTION_MODULES = ("run_list.py",)
_MOMENT = pa.struct([pa.field("step", pa.int32()), pa.field("text", pa.string())])
COLUMNS = [
    RUN,
    SEED,
    column("outcome", "string", "in a word, as the run_list.py of its collection says"),
    column("shown", "string", "in the explorer: training, end, outcome, or nothing"),
    column("moments", pa.list_(_MOMENT), "what happens in the training, by step"),
]


def columns(study: Study) -> list[pa.Field]:
    """Return the columns of all runs, metrics of the systems, and columns of their collections."""
    lists = (load(name).COLUMNS for name in contributions.contributed(study, "run_list.py"))
    measured = metrics(study.specs[name] for name in study.systems)
    by_name = {field.name: field for fields in (COLUMNS, measured, *lists) for field in fields}
    return [*by_name.values()]  # collections may share one


def _check_shown(study: Study, shown: set[str]) -> None:
    """Raise ConfigError if a system shows or colours a column that is not among ``shown``."""
    shown |= {f"{name.removesuffix('_step')}_epoch" for name in shown if name.endswith("_step")}
    for system in (study.specs[name] for name in study.systems):
        for name in (*system.run_columns, *filter(None, [system.coloured_signals])):
            if name not in shown:
                where = f"{path_of(system.module)}: SYSTEM"
                raise ConfigError(f"{where}: the list of runs has no column {name!r}")


def _best(runs: pd.DataFrame) -> pd.Series:
    """Return which runs have their point's highest test accuracy; of several, the lowest loss."""
    scores = runs.reindex(columns=["point", "seed", "test_accuracy", "test_loss"])
    order = {"test_accuracy": False, "test_loss": True, "seed": True}
    ranked = scores.sort_values([*order], ascending=[*order.values()])
    return ~ranked.duplicated("point").reindex(runs.index)


def table(study: Study) -> pd.DataFrame:
    """Return a row per run of any system."""
    runs = parquet.read_table(study, "runs")
    parts = [load(name).runs(study) for name in contributions.contributed(study, "run_list.py")]
    outcomes = pd.concat([pd.DataFrame(columns=["run_id", "outcome"]), *parts]).set_index("run_id")
    if taken := [*outcomes.columns.intersection([*runs.columns, "shown", "point"])]:
        raise ConfigError(f"run_list.py: {taken[0]!r} is circlet's own column; rename yours")
    frame = runs.join(outcomes, on="run_id")
    words = frame["status"].str.replace("_", " ")
    has_outcome = (frame["status"] == "finished") & frame["outcome"].notna()
    frame["outcome"] = np.where(has_outcome, frame["outcome"].astype(object), words.astype(object))
    places = {f"{p.experiment}/{p.name}": i for i, p in enumerate(study.points)}
    frame["seed"] = frame["run_id"].str.rsplit("/s", n=1).str[1].astype(int)
    frame["point"] = frame["run_id"].str.rsplit("/", n=1).str[0].map(places)
    named = frame["named"] if "named" in frame else pd.Series(False, frame.index)
    frame["named"] = named.eq(True) | _best(frame)  # null for runs of other collections
    frame["shown"] = explorer_budget.choose(frame, study.points)
    fields = columns(study)
    _check_shown(study, {field.name for field in fields})
    lists = {field.name: object for field in fields if pa.types.is_list(field.type)}
    return frame.reindex(columns=names(fields)).astype(lists)  # Arrow takes an object NaN as null
