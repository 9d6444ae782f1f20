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

_PAIRS_PER_ROW = 3


def draw(study: Study) -> Figure:
    """For each run its embedding (left) and its classifier with the train pair sums (right)."""
    maps, sums = (parquet.read_table(study, name) for name in ("classifier_maps", "pair_sums"))
    embeddings = parquet.read_table(study, "embeddings")
    structures = parquet.read_table(study, "structures").set_index("run_id")
    runs = maps.loc[maps["in_gallery"], "run_id"].unique()
    if len(runs) == 0:
        return panels.nothing("no finished run with a classifier to draw")
    rows = -(-len(runs) // _PAIRS_PER_ROW)
    figure = Figure(figsize=(2 * _PAIRS_PER_ROW * 1.75, rows * 1.95))
    axes = figure.subplots(rows, 2 * _PAIRS_PER_ROW, squeeze=False).ravel()
    for empty in axes[2 * len(runs) :]:
        empty.axis("off")
    for run, left, right in zip(runs, axes[::2], axes[1::2], strict=False):
        panels.embedding(left, panels.vectors(embeddings, run), fontsize=7)
        left.set_title(structure_panels.label(structures.loc[run]), fontsize=8, pad=3)
        structure_panels.classifier(
            right, maps[maps["run_id"] == run], sums[sums["run_id"] == run], 5
        )
        right.set_title(run.rsplit("/", 1)[-1], fontsize=8, pad=3)
        panels.plays(left, run)
    return figure
