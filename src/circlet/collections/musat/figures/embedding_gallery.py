"""Embeddings of twenty runs for each weight decay; Mușat, appendix. Above each panel: circle or the
number of imperfections, and the validation accuracy. Seeds are not selected.
"""

from matplotlib.figure import Figure

from circlet.collections.musat import structure_panels
from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("table1",)
TABLES = ("structures", "embeddings")

_RUNS = range(10, 30)  # seeds 10 to 29; of a shorter experiment, the last twenty


def section(runs, title: str) -> tuple[str, list[str]]:
    """Title and runs of a section: those with seeds 10..29, or the last twenty."""
    ordered = runs.sort_values("seed")
    chosen = ordered[ordered["seed"].isin(_RUNS)]
    if len(chosen) < len(_RUNS):
        chosen = ordered.tail(len(_RUNS))
    return title, chosen["run_id"].tolist()


def gallery(study: Study, role: str, parameter: str, label: str) -> Figure:
    """Twenty embeddings for each value of a parameter (twelve at most), largest value first."""
    structures = parquet.read_table(study, "structures", role)
    embeddings = parquet.read_table(study, "embeddings", role)
    by_run = structures.set_index("run_id")
    sections = [
        section(structures[structures[parameter] == value], f"{label} = {value:g}")
        for value in reversed(panels.some(structures[parameter].unique()))
    ]
    figure, placed = panels.gallery(7, 1.5, sections)
    for run_id, axes in (item for part in placed for item in part):
        panels.embedding(axes, panels.vectors(embeddings, run_id), fontsize=6.5)
        axes.set_title(structure_panels.label(by_run.loc[run_id]), fontsize=8, pad=3)
        panels.plays(axes, run_id)
    return figure


def draw(study: Study) -> Figure:
    """Twenty trained embeddings for each weight decay."""
    return gallery(study, "table1", "weight_decay", "weight decay")
