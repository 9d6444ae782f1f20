"""Table ``mine.distances``: how far from the origin the particles of each run end."""

from circlet.analysis import log_frames
from circlet.collections.mine import distance
from circlet.storage.schema import RUN, SEED, column

SYSTEMS = ("mine.drift",)
LOGS = ("runs", "embeddings")
TABLES = ()
COLUMNS = [RUN, SEED, column("distance", "float64", "mean distance from the origin")]


def table(study):
    """A row per run."""
    ends = log_frames.final(study, "embeddings").groupby("run_id")["vector"]
    return ends.agg(distance.of).rename("distance").reset_index()
