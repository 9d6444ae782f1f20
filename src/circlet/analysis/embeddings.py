"""Table ``embeddings``: the embedding vectors of every run at its last step."""

import pandas as pd

from circlet.analysis import gather
from circlet.plan import Study

SYSTEMS = ("constant_attention", "particles")
LOGS = ("embeddings",)
TABLES = ()


def table(study: Study) -> pd.DataFrame:
    """A row per run and token."""
    frame = gather.logs(study, "embeddings", final=True)
    return gather.per_run(frame, study, ["seed", "token", "vector"])
