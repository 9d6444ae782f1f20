"""Jaccard index of the survivors of two runs, by the seeds that they share, with 95 % intervals
(jackknife over seeds). Grey: two runs that share no seed.
"""

from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("crossed_seeds",)
TABLES = ("seed_overlap",)


def draw(study: Study) -> Figure:
    """Draw a row per combination of shared seeds."""
    rows = parquet.read_table(study, "seed_overlap", "crossed_seeds").sort_values("jaccard")
    panels.require(len(rows), "no two finished runs")
    figure, (axes,) = panels.row(1, 4.6, 2.8)
    texts = [text.replace("data", "train set").replace("+", " + ") for text in rows["shared"]]
    for y, (row, text) in enumerate(zip(rows.itertuples(), texts, strict=True)):
        colour = style.GREY if text == "nothing" else style.BLUE
        axes.plot([row.jaccard_low, row.jaccard_high], [y, y], color=colour, lw=1)
        axes.plot(row.jaccard, y, "o", color=colour, ms=4)
    axes.set_yticks(range(len(rows)), texts, fontsize=8)
    axes.set(xlabel="Jaccard index of survivors", xlim=(0, None))
    n_runs, n_seeds = rows[["n_runs", "jaccard_n"]].iloc[0]
    axes.set_title(f"pairs of {n_runs} runs, at least {n_seeds} seeds of each kind")
    return figure
