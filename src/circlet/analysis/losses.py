"""Table ``losses``: the loss curves of the runs whose figures draw or average them."""

import pandas as pd

from circlet import tables
from circlet.analysis import gather
from circlet.plan import Study

OPTIONAL_ROLES = ("trajectory", "frozen", "ablated_starts", "random_starts", "precision")
LOGS = ("runs", "curves")
TABLES = ()


def table(study: Study) -> pd.DataFrame:
    """A row per role, run and logged step."""
    columns = tables.names("losses")
    frames = []
    for role, experiment in study.reproduce.items():
        for point in study.experiment(experiment):
            for block in point.blocks:
                frame = gather.finished(block, "curves", study)
                frames.append(
                    frame[["run_id", "step", "train_loss", "test_loss"]].assign(
                        role=role, dtype=point.settings["dtype"]
                    )
                )
    return gather.keyed(frames, study, columns)
