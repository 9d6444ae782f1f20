"""Groups of the planned runs of a study, with the rows of a table."""

import pandas as pd
from conftest import experiment, planned

from circlet.analysis import log_frames


def test_groups_are_those_of_the_plan_in_its_order():
    """A group may have no rows, or a key that its system lacks."""
    study = planned(
        net=experiment(sweep={"weight_decay": [1.0, 0.0]}, seeds={"count": 2}),
        law=experiment("particles", parameters={"p": 17}, seeds={"count": 4}),
    )
    rows = [("net", 0.0, "a"), ("net", 0.0, "b"), ("law", None, "c")]
    frame = pd.DataFrame(rows, columns=["experiment", "weight_decay", "run_id"])
    columns = ["weight_decay", "estimate"]
    groups = [(row, [*part["run_id"]]) for row, part in log_frames.groups(study, frame, columns)]
    assert groups == [
        ({"weight_decay": 1.0, "n_runs": 0, "n_planned": 2}, []),
        ({"weight_decay": 0.0, "n_runs": 2, "n_planned": 2}, ["a", "b"]),
        ({"weight_decay": None, "n_runs": 1, "n_planned": 4}, ["c"]),
    ]
