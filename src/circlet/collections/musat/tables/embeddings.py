"""Table ``embeddings``: final embedding vector of each number, per finished run."""

import pandas as pd

from circlet.analysis import log_frames
from circlet.storage.schema import EMBEDDING, RUN, SEED
from circlet.study.plan import Study

SYSTEMS = ("constant_attention", "particles")
LOGS = ("runs", "embeddings")
COLUMNS = [RUN, SEED, *EMBEDDING]


def table(study: Study) -> pd.DataFrame:
    """A row per run and token."""
    return log_frames.final(study, "embeddings").drop(columns="step")
