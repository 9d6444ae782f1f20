"""Table ``ode_summary``: mean quality of the fitted ODEs, per dimension and method (figure 9)."""

from circlet.analysis import log_frames, stats
from circlet.collections.ding import ode
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate, names
from circlet.study.plan import Study

OPTIONAL_ROLES = ("trajectory", "ode_dimensions")
TABLES = ("ode_fits",)
COLUMNS = [
    EXPERIMENT,
    column("d", "int32", "embedding dimension"),
    column("method", "string", "least_squares, lasso or quadratic"),
    *estimate("r2", "mean over runs"),
    *estimate("nonzero", "mean over runs, per cent of the coefficients", "%"),
    *COUNTS,
]


def table(study: Study) -> Rows:
    """A row per experiment, dimension and method."""
    fitted = parquet.read_table(study, "ode_fits").query("status == 'fitted'")
    for row, fits in log_frames.groups(study, fitted, names(COLUMNS)):
        for method in ode.METHODS:
            runs = fits[fits["method"] == method]
            yield row | {
                "method": method,
                **stats.mean(runs["r2"]).columns("r2"),
                **stats.mean(100 * runs["nonzero"]).columns("nonzero"),
            }
