"""Table ``transfers``: runs that started from another run's end, beside that run."""

import pandas as pd

from circlet import io, tables
from circlet.analysis import gather
from circlet.plan import Study

OPTIONAL_ROLES = ("transfer", "curriculum")
TABLES = ("heads",)


def table(study: Study) -> pd.DataFrame:
    """A row per finished run whose base is in the study."""
    columns = tables.names("transfers")
    heads = io.read_table(study, "heads").set_index("run_id")
    rows = []
    for block in study.blocks:
        point = block.point
        if point.base is None:
            continue
        for seed in block.seeds:
            run_id, parent = point.run_id(seed), point.base.run_id(seed)
            if run_id in heads.index and parent in heads.index:
                rows.append(
                    {
                        "run_id": run_id,
                        "parent": parent,
                        "parent_p": point.base.parameters["p"],
                        "parent_test_accuracy": heads.loc[parent, "test_accuracy"],
                        "parent_success": heads.loc[parent, "success"],
                        "test_accuracy": heads.loc[run_id, "test_accuracy"],
                        "success": heads.loc[run_id, "success"],
                    }
                )
    return gather.keyed([pd.DataFrame(rows)] if rows else [], study, columns)
