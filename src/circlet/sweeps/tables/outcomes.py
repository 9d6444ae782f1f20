"""Table ``outcomes``: value of each outcome of each finished run.

Outcomes are what its system declares, else all its metrics, the ``milestones`` of the config, and
its ``derived_metrics`` at the last logged step.
A run has no row for an outcome that does not apply to it, such as ``head_of_success`` of a failure.
An outcome that a seed decides, such as circularity of the initial embedding, has one row per seed.
"""

import numpy as np
import pandas as pd

from circlet.errors import LogError
from circlet.storage import parquet
from circlet.storage.schema import RUN, SEED, Frames, column
from circlet.study.plan import Study
from circlet.systems.spec import Outcome

TABLES = ("runs",)
CONFIG = ("milestones", "derived_metrics")
USES = ("outcomes",)
COLUMNS = [
    RUN,
    SEED,
    column("outcome", "string", "what it is called"),
    column("value", "float64", "0 or 1 of a share; null of a time: not reached by the end"),
    column("after", "float64", "of a time: the last step at which it was not reached", "steps"),
]


def _ends(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of runs; of a table with several steps of a run, the last."""
    if "step" not in table:
        return table
    return table.sort_values("step", kind="stable").drop_duplicates("run_id", keep="last")


def _rows(outcome: Outcome, table: pd.DataFrame) -> pd.DataFrame:
    column = outcome.column or outcome.name
    after = [f"{column}_after"] if outcome.kind == "time" else []
    if missing := [n for n in ("run_id", column, *after, *outcome.where) if n not in table]:
        raise LogError(
            f"outcome {outcome.name}: the table {outcome.table} has no column {missing[0]}"
        )
    for name, value in outcome.where.items():
        if len(table) and isinstance(value, str) != pd.api.types.is_string_dtype(table[name]):
            raise LogError(
                f"outcome {outcome.name}: where: the column {name} never equals {value!r}"
            )
        table = table[table[name].eq(value).fillna(False).astype(bool)]
    if twice := table.loc[table["run_id"].duplicated(), "run_id"].tolist():
        raise LogError(
            f"outcome {outcome.name}: the table {outcome.table} has several rows of {twice[0]}; "
            "give `where`, with what the columns of one of them have"
        )
    try:
        numbers = table[[column, *after]].astype("Float64").astype(float)
    except (TypeError, ValueError):
        raise LogError(
            f"outcome {outcome.name}: the column {column} of the table {outcome.table} must be "
            "numbers or truth values"
        ) from None
    rows = table[["run_id"]].assign(
        outcome=outcome.name,
        value=numbers[column],
        after=numbers[after[0]] if after else np.nan,
    )
    return rows[rows[["value", "after"]].notna().any(axis=1)]


def _counted(outcome: Outcome, runs: pd.DataFrame) -> pd.Series:
    """Return the runs that count for an outcome: the first of a point with each seed."""
    if not outcome.seed:
        return runs["run_id"]
    point = runs["run_id"].str.rsplit("/", n=1).str[0].rename("point")
    return runs.groupby([point, runs[outcome.seed]])["run_id"].first()


def table(study: Study) -> Frames:
    """Yield frames with a row per finished run and outcome."""
    by_system = {name: study.outcomes(name) for name in study.systems}
    seeds = {outcome.seed for outcomes in by_system.values() for outcome in outcomes} - {""}
    columns = ["run_id", "system", "status", *sorted(seeds)]
    runs = parquet.read_table(study, "runs", columns=columns)
    finished = dict(list(runs[runs["status"] == "finished"].groupby("system")))
    needed = {outcome.table for outcomes in by_system.values() for outcome in outcomes}
    tables = {name: _ends(parquet.read_table(study, name)) for name in sorted(needed)}
    for system, outcomes in by_system.items():
        for outcome in outcomes:
            rows = _rows(outcome, tables[outcome.table])
            run_ids = _counted(outcome, finished.get(system, runs.iloc[:0]))
            yield rows[rows["run_id"].isin(run_ids)]
