"""Table ``exemplars``: the runs that stand for each structure in the figures.

They are chosen by rule, never by eye, of the finished runs at the largest weight decay (networks)
or at the f_a closest to 1 (particles). A circle is the run with the smallest norm ratio. A grid is
the non-circle with the highest validation accuracy, or of particles, which have none, the one with
the fewest imperfections. An imperfect grid is the non-circle whose imperfections are nearest to
the mean of the non-circles. Ties go to fewer imperfections, then to the smaller norm ratio.
"""

import pandas as pd

from circlet import io
from circlet.analysis import gather
from circlet.plan import Study

OPTIONAL_ROLES = ("table1", "table2")
TABLES = ("structures",)


def choose(runs: pd.DataFrame) -> dict[str, pd.Series]:
    """The exemplars among some rows of ``structures``, by structure; absent if there is none."""
    found = {}
    circles, others = runs[runs["is_circle"]], runs[~runs["is_circle"]]
    if len(circles):
        found["circle"] = circles.sort_values("norm_ratio").iloc[0]
    if len(others):
        ranked = others.assign(
            error=-others["validation_accuracy"].fillna(0),
            from_mean=(others["imperfections"] - others["imperfections"].mean()).abs(),
        )
        ties = ["imperfections", "norm_ratio"]
        found["grid"] = ranked.sort_values(["error", *ties]).iloc[0]
        found["imperfect_grid"] = ranked.sort_values(["from_mean", *ties]).iloc[0]
    return found


def table(study: Study) -> pd.DataFrame:
    """A row per role and structure that occurs."""
    structures = io.read_table(study, "structures")
    rows = []
    for role, experiment in study.reproduce.items():
        runs = structures[structures["experiment"] == experiment]
        if role == "table1":
            runs = runs[runs["weight_decay"] == runs["weight_decay"].max()]
        else:
            near = (runs["f_a"] - 1).abs()
            runs = runs[near == near.min()]
        rows += [
            {
                "role": role,
                "structure": structure,
                **row[["run_id", "norm_ratio", "imperfections", "validation_accuracy"]],
            }
            for structure, row in choose(runs).items()
        ]
    columns = ["run_id", "role", "structure", "norm_ratio", "imperfections", "validation_accuracy"]
    exemplars = pd.DataFrame(rows, columns=columns)
    keys = gather.per_run(structures, study, [])
    return exemplars.merge(keys, on="run_id", sort=False)
