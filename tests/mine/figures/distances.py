"""Distance from the origin at the end, by rate."""

from matplotlib.figure import Figure

from circlet.storage import parquet

ROLES = ("mine.rates",)
TABLES = ("mine.distances",)


def draw(study):
    """A dot per run."""
    runs = parquet.read_table(study, "mine.distances")
    figure = Figure()
    axes = figure.subplots()
    axes.plot(runs["rate"], runs["distance"], "o")
    axes.set(xlabel="rate", ylabel="distance")
    return figure
