"""Progress and interpretation measures against steps. Thin lines are runs, thick lines their means.
Key frequencies are those that dominate the embedding at the end. The restricted loss is that of
logits that only have the key frequencies of a + b, on all pairs; the excluded loss is that of
logits without them, on the train pairs (Nanda et al. 2023). A network that has generalised by its
key frequencies has a low restricted and a high excluded loss. Gini coefficient and inverse
participation ratio (IPR) are near 1 if few frequencies have all the power of the embedding. A
clock has a distance irrelevance near 1, and a pizza near 0 with a gradient symmetricity of 1 (Zhong
et al. 2023); constant attention fixes the symmetricity at 1. The phase alignment is 1 if the output
phase of each neuron is the sum of the phases of its two inputs.
"""

from matplotlib.figure import Figure

from circlet.analysis import log_frames
from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study import swept
from circlet.study.plan import Study

SYSTEMS = ("constant_attention", "embedding_mlp")
TABLES = ("progress_measures",)
CONFIG = ("derived_metrics",)

_PANELS = {
    "loss (nat)": {
        "train_loss": "train",
        "test_loss": "test",
        "restricted_loss": "restricted",
        "excluded_loss": "excluded",
    },
    "spectrum of the embedding": {"fourier_gini": "Gini coefficient", "fourier_ipr": "IPR"},
    "clock or pizza": {
        "distance_irrelevance": "distance irrelevance",
        "gradient_symmetricity": "gradient symmetricity",
    },
    "neurons": {"phase_alignment": "phase alignment"},
}
_MAX_SETTINGS = 8


def draw(study: Study) -> Figure:
    """A row of panels for each setting, at most eight."""
    rows = parquet.read_table(study, "progress_measures")
    panels.require(len(rows), "no finished run with logged parameters")
    settings = [part for part in log_frames.by_point(rows, study) if len(part[2])][:_MAX_SETTINGS]
    figure = Figure(figsize=(11, 2.7 * len(settings)))
    grid = figure.subplots(len(settings), len(_PANELS), squeeze=False)
    for line, (point, _, group) in zip(grid, settings, strict=True):
        for axes, (title, measures) in zip(line, _PANELS.items(), strict=True):
            for (name, label), colour in zip(measures.items(), style.labels(4), strict=False):
                wide = group.pivot(index="step", columns="run_id", values=name)
                axes.plot(wide.index, wide, color=colour, lw=0.4, alpha=0.4)
                axes.plot(wide.index, wide.mean(axis=1), color=colour, lw=1.6, label=label)
            axes.set_xscale("symlog", linthresh=1)
            axes.set(xlabel="step", xlim=(0, group["step"].max()), title=title)
            if title.startswith("loss"):
                axes.set_yscale("log")
            else:
                low = -1 if group[list(measures)].min().min() < 0 else 0
                axes.set_ylim(low - 0.05, 1.05)
        values = swept.setting(point, swept.swept(study.experiment(point.experiment)))
        runs = f"{group['run_id'].nunique()} runs"
        line[0].set_ylabel("\n".join([point.experiment, *values, runs]))
    for axes in grid[0]:
        axes.legend()
    return figure
