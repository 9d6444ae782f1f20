"""Embeddings of twenty runs for each weight decay; Mușat, appendix. Above each panel: circle or the
number of imperfections, and the validation accuracy. Seeds are not selected.
"""

from matplotlib.figure import Figure

from circlet.collections.musat import galleries, structure_panels
from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("table1",)
TABLES = ("structures", "embeddings")


def gallery(study: Study, role: str, parameter: str, label: str) -> Figure:
    """Twenty embeddings for each value of a parameter (twelve at most), largest value first."""
    structures = parquet.read_table(study, "structures", role)
    embeddings = parquet.read_table(study, "embeddings", role)
    by_run = structures.set_index("run_id")
    sections = [
        (f"{label} = {value:g}", galleries.embeddings(structures[structures[parameter] == value]))
        for value in reversed(panels.some(structures[parameter].unique()))
    ]
    figure, placed = panels.gallery(7, 1.5, sections)
    for run_id, axes in (item for part in placed for item in part):
        panels.embedding(axes, panels.vectors(embeddings, run_id), fontsize=6.5)
        axes.set_title(structure_panels.label(by_run.loc[run_id]), pad=3)
        panels.plays(axes, run_id)
    return figure


def draw(study: Study) -> Figure:
    """Twenty trained embeddings for each weight decay."""
    return gallery(study, "table1", "weight_decay", "weight decay")
