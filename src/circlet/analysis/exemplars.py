"""Table ``exemplars``: the runs that stand for each structure in the figures.

They are chosen by rule, never by eye: of the finished runs at the largest weight decay (networks)
or at the f_a closest to 1 (particles), a circle is the run with the smallest norm ratio, a grid
the non-circle with the fewest imperfections, and an imperfect grid the non-circle whose
imperfections are nearest to the mean of the non-circles. Ties go to the smaller norm ratio.
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
        found["grid"] = others.sort_values(["imperfections", "norm_ratio"]).iloc[0]
        typical = (others["imperfections"] - others["imperfections"].mean()).abs()
        ordered = others.assign(distance=typical).sort_values(["distance", "norm_ratio"])
        found["imperfect_grid"] = ordered.iloc[0]
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
