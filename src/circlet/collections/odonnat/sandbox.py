"""The visual sandbox of any run: its network at one step, layer by layer, or a film of it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from circlet.analysis import log_frames
from circlet.collections.odonnat import layer_projections
from circlet.collections.odonnat.figures import sandbox
from circlet.collections.odonnat.network_panels import Moment
from circlet.config.schedules import evenly
from circlet.errors import ConfigError, LogError
from circlet.storage import parquet
from circlet.study.plan import Study
from circlet.study.points import Block

SYSTEM = "sparse_transformer"
AHEAD = 5  # moments of a film that are looked at before it is drawn, to choose its frame


class Run:
    """One run of a study, with its logged networks and curves."""

    def __init__(self, study: Study, run_id: str):
        self.run_id = run_id
        self.block, seed = _find(study, run_id)
        self.place = seed - self.block.first
        curves = parquet.read_log(self.block, "curves")
        self.curves = curves[curves["seed"] == seed].sort_values("step")

    @property
    def steps(self) -> list[int]:
        """Steps at which its network is logged."""
        return self.block.point.steps_logged("parameters")

    def moments(
        self,
        steps: list[int],
        frame: layer_projections.Frame | None = None,
        planes: dict[str, np.ndarray] | None = None,
    ) -> Iterator[tuple[Moment, layer_projections.Frame]]:
        """What the panels draw at some logged steps, and where."""
        logged = parquet.read_weights(self.block, steps)
        point = self.block.point
        for i, step in enumerate(steps):
            weights = {name: array[i, self.place] for name, array in logged.items()}
            if not all(np.isfinite(array).all() for array in weights.values()):
                raise LogError(f"{self.run_id}: its network at step {step} is not finite")
            drawn, where = layer_projections.view(weights, point.parameters, frame, planes)
            yield Moment(drawn, self.curves, step, point.steps_per_epoch), where

    def title(self, step: int) -> str:
        """Title of a picture."""
        epoch = step / self.block.point.steps_per_epoch
        return f"{self.run_id}: step {step}, epoch {epoch:.4g}"


def _find(study: Study, run_id: str) -> tuple[Block, int]:
    """Block and seed of a run."""
    known = study.of_systems([SYSTEM])
    if not known:
        raise ConfigError(f"the study has no experiment with {SYSTEM}")
    runs = log_frames.runs(study.part(known))
    if run_id not in runs:
        example = min(runs)
        raise ConfigError(f"there is no run {run_id!r} of {SYSTEM}; they are named as {example}")
    return runs[run_id]


def picture(study: Study, run_id: str, step: int | None, path: Path | None) -> Path:
    """Draw all panels of a run at a step, the last if none is given; returns the file.

    Raises ConfigError if there is no such run or step, and LogError if it is not done.
    """
    run = Run(study, run_id)
    step = run.steps[-1] if step is None else step
    if step not in run.steps:
        near = min(run.steps, key=lambda logged: abs(logged - step))
        raise ConfigError(
            f"{run_id} logs its network at {len(run.steps)} steps, not at {step} (nearest: {near}; "
            "see `log.parameters` of its experiment)"
        )
    path = path or _default(study, run_id, f"step_{step}.png")
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"{path}: a picture must end in .png, .svg or .pdf")
    ((moment, _),) = run.moments([step])
    sandbox.write(moment, run.title(step), path)
    return path


def film(study: Study, run_id: str, frames: int, path: Path | None) -> tuple[Path, int]:
    """Film the training of a run, in a number of its logged steps; returns file and frames."""
    run = Run(study, run_id)
    path = path or _default(study, run_id, "training.gif")
    if path.suffix not in (".gif", ".mp4"):
        raise ConfigError(f"{path}: a film must end in .gif or .mp4")
    if path.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise ConfigError(
            f"{path}: needs ffmpeg, which is not installed; install it, or choose a name that ends "
            "in .gif"
        )
    if frames < 2:
        raise ConfigError(f"a film needs at least 2 frames, not {frames}")
    steps = evenly(run.steps, frames)
    ((_, last),) = run.moments(steps[-1:])
    ahead = run.moments(evenly(steps, AHEAD), planes=last.planes)
    where = layer_projections.film([frame for _, frame in ahead])
    shown = ((moment, run.title(moment.step)) for moment, _ in run.moments(steps, where))
    return path, sandbox.animate(shown, path)


def _default(study: Study, run_id: str, name: str) -> Path:
    return study.results / "sandbox" / run_id / name
