"""Table ``mine.distances``: how far from the origin the particles of each run end."""

import pyarrow as pa
from circlet.collections.mine import distance

from circlet.analysis import log_frames
from circlet.storage.schema import SEED, column

SYSTEMS = ("mine.drift",)
LOGS = ("runs", "embeddings")
TABLES = ()
COLUMNS = [SEED, column("distance", pa.float64(), "mean distance from the origin")]

_KEYS = ["run_id", "seed"]


def table(study):
    """A row per run."""
    ends = log_frames.final(study, "embeddings").groupby(_KEYS)["vector"]
    rows = ends.agg(distance.of).rename("distance").reset_index()
    return log_frames.keyed([rows.drop(columns="seed")], study, ["seed", "distance"])
