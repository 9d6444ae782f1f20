"""Table ``embeddings``: the embedding vectors of every finished run at its last step."""

import pandas as pd

from circlet.analysis import gather
from circlet.plan import Study

SYSTEMS = ("constant_attention", "particles")
LOGS = ("runs", "embeddings")
TABLES = ()


def table(study: Study) -> pd.DataFrame:
    """A row per run and token."""
    return gather.per_run(gather.final(study, "embeddings"), study, ["seed", "token", "vector"])
