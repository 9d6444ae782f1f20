"""Figures of one to three exemplary embeddings, or of one embedding and its classifier."""

from matplotlib.figure import Figure

from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

TITLES = {"grid": "grid", "circle": "circle", "imperfect_grid": "imperfect grid"}


def embeddings(study: Study, role: str, structures: tuple[str, ...]) -> Figure:
    """The exemplars of some structures side by side; a structure that never formed is said."""
    exemplars = parquet.read_table(study, "exemplars")
    every = parquet.read_table(study, "embeddings")
    figure = Figure(figsize=(3.1 * len(structures), 3.5))
    for axes, structure in zip(
        figure.subplots(1, len(structures), squeeze=False)[0], structures, strict=True
    ):
        found = exemplars[(exemplars["role"] == role) & (exemplars["structure"] == structure)]
        if found.empty:
            panels.missing(axes, f"no {TITLES[structure]} among these runs")
            continue
        row = found.iloc[0]
        panels.embedding(axes, panels.vectors(every, row["run_id"]), fontsize=9)
        axes.set_title(_title(row), fontsize=8.5)
    return figure


def with_classifier(study: Study, structure: str) -> Figure:
    """An exemplar's embedding (left) and its classifier with the train pair sums (right)."""
    exemplars = parquet.read_table(study, "exemplars")
    found = exemplars[(exemplars["role"] == "table1") & (exemplars["structure"] == structure)]
    figure = Figure(figsize=(7.2, 3.9))
    left, right = figure.subplots(1, 2)
    if found.empty:
        panels.missing(left, f"no {TITLES[structure]} among these runs")
        right.axis("off")
        return figure
    row = found.iloc[0]
    maps, sums = (parquet.read_table(study, name) for name in ("classifier_maps", "pair_sums"))
    panels.embedding(
        left, panels.vectors(parquet.read_table(study, "embeddings"), row["run_id"]), fontsize=9
    )
    left.set_title(_title(row), fontsize=8.5)
    panels.classifier(
        right, maps[maps["run_id"] == row["run_id"]], sums[sums["run_id"] == row["run_id"]], 16
    )
    right.set_title("predicted class and train pair sums", fontsize=8.5)
    return figure


def _title(row) -> str:
    text = TITLES[row["structure"]]
    if row["structure"] == "circle":
        text += f", norm ratio {row['norm_ratio']:.2f}"
    else:
        text += f", {row['imperfections']} imperfections"
    if row["validation_accuracy"] == row["validation_accuracy"]:
        text += f", {100 * row['validation_accuracy']:.0f} % accuracy"
    return f"{text}\n{row['run_id']}"
