"""Embeddings in three and four dimensions at weight decay 1, each in three projections onto two
dimensions; Mușat, appendix. The first seven and eight runs.
"""

import itertools

from matplotlib.figure import Figure

from circlet.collections.musat import galleries, structure_panels
from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("projection_gallery",)
TABLES = ("structures", "embeddings")

_PROJECTIONS = {3: [(0, 1), (0, 2), (1, 2)], 4: [(0, 1), (1, 2), (2, 3)]}


def draw(study: Study) -> Figure:
    """Three projections onto pairs of dimensions for each run, by dimension."""
    structures = parquet.read_table(study, "structures", "projection_gallery")
    structures = structures[structures["d"] > 1]
    embeddings = parquet.read_table(study, "embeddings")
    by_run = structures.set_index("run_id")
    sections, planes = [], []
    for d, runs in structures.groupby("d"):
        chosen = galleries.projections(runs, d)
        planes.append(_PROJECTIONS.get(d, list(itertools.combinations(range(d), 2))[:3]))
        sections.append((f"{d} dimensions", [run for run in chosen for _ in planes[-1]]))
    figure, placed = panels.gallery(6, 1.7, sections)
    for part, projections in zip(placed, planes, strict=True):
        for (run, axes), (i, j) in zip(part, itertools.cycle(projections), strict=False):
            panels.embedding(axes, panels.vectors(embeddings, run)[:, [i, j]], fontsize=7)
            title = f"dimensions {i + 1}, {j + 1}"
            if (i, j) == projections[0]:
                name = run.rsplit("/", 1)[-1]
                title = f"{name}: {structure_panels.label(by_run.loc[run])}\n{title}"
            axes.set_title(title, pad=3)
            panels.plays(axes, run)
    return figure
