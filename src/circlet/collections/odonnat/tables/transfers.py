"""Table ``transfers``: runs that start from another run's final weights, and their parent runs."""

from circlet.storage import parquet
from circlet.storage.schema import RUN_SEEDS, Rows, column
from circlet.study.plan import Study

OPTIONAL_ROLES = ("transfer", "curriculum")
TABLES = ("heads",)
COLUMNS = [
    *RUN_SEEDS,
    column("parent", "string", "run_id of the run from whose end it started"),
    column("parent_success", "bool", "whether its last test accuracy is above 0.98"),
    column("test_accuracy", "float64", "last test accuracy of the run itself", "0..1"),
    column("success", "bool", "whether that is above 0.98"),
]


def table(study: Study) -> Rows:
    """A row per finished run whose parent is in the study."""
    heads = parquet.read_table(study, "heads").set_index("run_id")
    for block in study.blocks:
        point = block.point
        if point.parent is None:
            continue
        for seed in block.seeds:
            run_id, parent = point.run_id(seed), point.parent.run_id(seed)
            if run_id in heads.index and parent in heads.index:
                yield {
                    "run_id": run_id,
                    "parent": parent,
                    "parent_success": heads.loc[parent, "success"],
                    "test_accuracy": heads.loc[run_id, "test_accuracy"],
                    "success": heads.loc[run_id, "success"],
                }
