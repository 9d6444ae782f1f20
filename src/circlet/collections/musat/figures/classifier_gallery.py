"""Embeddings and classifiers of the first fourteen runs at the weight decay nearest to 0.6; Mușat,
appendix. Left of each pair the embedding with its imperfections and validation accuracy, right the
classifier with the sums of the train pairs.
"""

from matplotlib.figure import Figure

from circlet.collections.musat import structure_panels
from circlet.plotting import panels
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("table1",)
TABLES = ("structures", "embeddings", "classifier_maps", "pair_sums")


def draw(study: Study) -> Figure:
    """For each run its embedding (left) and its classifier with the train pair sums (right)."""
    maps, sums = (parquet.read_table(study, name) for name in ("classifier_maps", "pair_sums"))
    embeddings = parquet.read_table(study, "embeddings")
    structures = parquet.read_table(study, "structures").set_index("run_id")
    runs = maps.loc[maps["in_gallery"], "run_id"].unique()
    panels.require(len(runs), "no finished run with a classifier to draw")
    figure, axes = panels.tiles(2 * len(runs), 6, 1.75, 1.95)
    for run, left, right in zip(runs, axes[::2], axes[1::2], strict=True):
        panels.embedding(left, panels.vectors(embeddings, run), fontsize=7)
        left.set_title(structure_panels.label(structures.loc[run]), pad=3)
        structure_panels.classifier(
            right, maps[maps["run_id"] == run], sums[sums["run_id"] == run], 5
        )
        right.set_title(run.rsplit("/", 1)[-1], pad=3)
        panels.plays(left, run)
    return figure
