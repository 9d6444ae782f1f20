"""Table ``gradient_norms``: gradient norm of each part of a network, per run and step (figure 3).

It is the gradient of the loss on the whole train set, not of a batch.
"""

from circlet.analysis import log_frames
from circlet.storage.schema import GRADIENT_NORM, RUN_SEEDS, STEP, Frames
from circlet.study.plan import Study

OPTIONAL_ROLES = ("heads", "full_batch")
LOGS = ("runs", "gradient_norms")
COLUMNS = [*RUN_SEEDS, STEP, *GRADIENT_NORM]


def table(study: Study) -> Frames:
    """A row per finished run, logged step and part."""
    return (log_frames.finished(block, "gradient_norms") for block in study.blocks)
