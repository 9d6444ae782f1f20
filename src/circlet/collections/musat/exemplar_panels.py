"""Figures of one to three exemplary embeddings, or of one embedding and its classifier."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.collections.musat import structure_panels
from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

TITLES = {"grid": "grid", "circle": "circle", "imperfect_grid": "imperfect grid"}


def embeddings(study: Study, role: str, structures: tuple[str, ...]) -> Figure:
    """The exemplars of some structures side by side."""
    figure, grid = panels.row(len(structures), 3.1 * len(structures), 3.5)
    for axes, structure in zip(grid, structures, strict=True):
        _embedding(axes, study, role, structure)
    return figure


def with_classifier(study: Study, structure: str) -> Figure:
    """An exemplar's embedding (left) and its classifier with the train pair sums (right)."""
    figure, (left, right) = panels.row(2, 7.2, 3.9)
    run_id = _embedding(left, study, "table1", structure)
    if run_id is None:
        right.axis("off")
        return figure
    tables = (parquet.read_table(study, name) for name in ("classifier_maps", "pair_sums"))
    maps, sums = (table[table["run_id"] == run_id] for table in tables)
    structure_panels.classifier(right, maps, sums, 16)
    right.set_title("predicted class and train pair sums", fontsize=8.5)
    return figure


def _embedding(axes: Axes, study: Study, role: str, structure: str) -> str | None:
    """Draw an exemplar; returns its run_id. If the structure never formed, the panel says so."""
    exemplars = parquet.read_table(study, "exemplars")
    matching = exemplars[(exemplars["role"] == role) & (exemplars["structure"] == structure)]
    if matching.empty:
        panels.missing(axes, f"no {TITLES[structure]} among these runs")
        return None
    row = matching.iloc[0]
    vectors = panels.vectors(parquet.read_table(study, "embeddings"), row["run_id"])
    panels.embedding(axes, vectors, fontsize=9)
    axes.set_title(_title(row), fontsize=8.5)
    panels.plays(axes, row["run_id"])
    return row["run_id"]


def _title(row) -> str:
    text = TITLES[row["structure"]]
    if row["structure"] == "circle":
        text += f", norm ratio {row['norm_ratio']:.2f}"
    else:
        text += f", {row['imperfections']} imperfections"
    if row["test_accuracy"] == row["test_accuracy"]:
        text += f", {100 * row['test_accuracy']:.0f} % accuracy"
    return f"{text}\n{row['run_id']}"
