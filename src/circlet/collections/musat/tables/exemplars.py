"""Table ``exemplars``: runs that show each structure in the figures, selected by a rule.

They are chosen by rule, never by eye, from the finished runs at the weight decay nearest to 1
(networks) or at the f_a nearest to 1 (particles). A circle is the run with the smallest norm ratio.
A grid is the non-circle with the highest validation accuracy or, for particles, with the fewest
imperfections. An imperfect grid is the non-circle whose imperfections are nearest to the mean of
the non-circles. Ties go to fewer imperfections, then to the smaller ratio.
"""

import pandas as pd

from circlet.storage import parquet
from circlet.storage.schema import RUN, Rows, column
from circlet.study.plan import Study

OPTIONAL_ROLES = ("table1", "table2")
TABLES = ("structures",)
COLUMNS = [
    RUN,
    column("role", "string", "table1 or table2: which experiment it was chosen from"),
    column("structure", "string", "circle, grid or imperfect_grid"),
    column("norm_ratio", "float64", "as in structures"),
    column("imperfections", "int32", "as in structures"),
    column("test_accuracy", "float64", "as in structures", "0..1"),
]

_SAME = ["run_id", "norm_ratio", "imperfections", "test_accuracy"]  # as in structures
_PARAMETER = {"table1": "weight_decay", "table2": "f_a"}


def nearest(runs: pd.DataFrame, parameter: str, value: float) -> pd.DataFrame:
    """The runs at the value of a parameter that is nearest to ``value``; of two, the smaller."""
    if runs.empty:
        return runs
    ordered = runs.sort_values(parameter)
    chosen = ordered.loc[(ordered[parameter] - value).abs().idxmin(), parameter]
    return runs[runs[parameter] == chosen]


def choose(runs: pd.DataFrame) -> dict[str, pd.Series]:
    """The exemplars among some rows of ``structures``, by structure; absent if there is none."""
    exemplars = {}
    ties = ["imperfections", "norm_ratio"]
    circles, others = runs[runs["is_circle"]], runs[~runs["is_circle"]]
    if len(circles):
        exemplars["circle"] = circles.sort_values("norm_ratio").iloc[0]
    if len(others):
        ranked = others.assign(
            error=-others["test_accuracy"].fillna(0),
            from_mean=(others["imperfections"] - others["imperfections"].mean()).abs(),
        )
        exemplars["grid"] = ranked.sort_values(["error", *ties]).iloc[0]
        exemplars["imperfect_grid"] = ranked.sort_values(["from_mean", *ties]).iloc[0]
    return exemplars


def table(study: Study) -> Rows:
    """A row per role and structure that occurs."""
    for role in study.reproduce:
        runs = nearest(parquet.read_table(study, "structures", role), _PARAMETER[role], 1)
        runs = runs.astype({"is_circle": bool})  # without runs, the type is unknown
        for structure, row in choose(runs).items():
            yield {"role": role, "structure": structure, **row[_SAME]}
