"""The visual sandbox of any run: its network at one step, layer by layer."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from circlet.analysis import log_frames
from circlet.collections.odonnat import layer_projections
from circlet.collections.odonnat.figures import sandbox
from circlet.errors import ConfigError, LogError
from circlet.plotting import style
from circlet.storage import files, parquet
from circlet.study.plan import Study

SYSTEM = "sparse_transformer"


def picture(study: Study, run_id: str, step: int | None, path: Path | None) -> Path:
    """Draw all panels of a run at a step, the last if none is given; return the file.

    Raises ConfigError without such a run or step, LogError if its log is missing or not finite.
    """
    experiments = study.of_systems([SYSTEM])
    if not experiments:
        raise ConfigError(f"the study has no experiment with {SYSTEM}")
    runs = log_frames.runs(study.subset(experiments))
    if run_id not in runs:
        raise ConfigError(f"there is no run {run_id!r} of {SYSTEM}; they are named as {min(runs)}")
    block, seed = runs[run_id]
    point, steps = block.point, block.point.steps_logged("parameters")
    step = steps[-1] if step is None else step
    if step not in steps:
        near = min(steps, key=lambda logged: abs(logged - step))
        raise ConfigError(
            f"{run_id} logs its network at {len(steps)} steps, not at {step} (nearest: {near}; "
            "see `log.parameters` of its experiment)"
        )
    path = path or study.results / "sandbox" / run_id / f"step_{step}.png"
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"{path}: a picture must end in .png, .svg or .pdf")
    logged = parquet.read_weights(block, [step])
    weights = {name: array[0, seed - block.first] for name, array in logged.items()}
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise LogError(f"{run_id}: its network at step {step} is not finite")
    curves = parquet.read_log(block, "curves")
    curves = curves[curves["seed"] == seed]
    view = layer_projections.view(weights, point.parameters)
    with mpl.rc_context(style.RC), files.atomic(path) as temporary:
        figure, _ = sandbox.drawn(view, curves, run_id, step, point.steps_per_epoch)
        figure.savefig(temporary)
    return path
