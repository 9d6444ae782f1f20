"""Above, each number of a grid, an imperfect grid and a circle at its embedding vector; Mușat,
figures 1 and 2. Lines join numbers in the arithmetic progression with the shortest steps. Below,
the classifiers; figures 3 and 4. The background is the class that the trained network gives to each
point of the plane of pair sums; the dots are the sums of the train pairs, coloured by their class.
Sums of the same class cluster in a grid, and line up along rays from the origin in a circle. The
grid is the non-circle with the highest validation accuracy, the imperfect grid the one whose number
of imperfections is nearest to the mean, the circle the run with the smallest ratio of norms, all
among the runs at the weight decay nearest to 1.
"""

from matplotlib.figure import Figure

from circlet.collections.musat import structure_panels
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("table1",)
TABLES = ("exemplars", "embeddings", "classifier_maps", "pair_sums")

_STRUCTURES = ("grid", "imperfect_grid", "circle")


def draw(study: Study) -> Figure:
    """A column for each structure: its embedding, and its classifier with the pair sums."""
    figure = Figure(figsize=(9.3, 7))
    above, below = figure.subplots(2, len(_STRUCTURES))
    shown = structure_panels.exemplars(study, "table1", dict(zip(_STRUCTURES, above, strict=True)))
    maps, sums = (parquet.read_table(study, name) for name in ("classifier_maps", "pair_sums"))
    for structure, axes in zip(_STRUCTURES, below, strict=True):
        if structure not in shown:
            axes.axis("off")
            continue
        run_maps, run_sums = (table[table["run_id"] == shown[structure]] for table in (maps, sums))
        structure_panels.classifier(axes, run_maps, run_sums, 16)
    return figure
