"""One loop for all systems: the runs of a block advance together, in one tensor program."""

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from circlet import interventions, io, source, systems
from circlet.errors import CircletError
from circlet.points import Block, Point
from circlet.seeds import Seeds
from circlet.training.adamw import AdamW
from circlet.training.recorder import Recorder

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all) after every step."""


def find_device(wanted: str) -> torch.device:
    """The device that ``auto``, ``cpu`` or ``cuda`` means here; raises CircletError."""
    if wanted == "cuda" and not torch.cuda.is_available():
        raise CircletError("--device cuda: torch sees no GPU here; use --device cpu or auto")
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(wanted)


def stacked(
    runs: list[dict[str, np.ndarray]], dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, dict[str, Tensor]]:
    """The arrays of all runs in one tensor (runs, values), and views of it by name.

    One tensor lets the optimiser take a step for all parameters of all runs in a single pass.
    """
    rows = [np.concatenate([array.ravel() for array in run.values()]) for run in runs]
    flat = torch.as_tensor(np.stack(rows)).to(dtype=dtype, device=device)
    return flat, views(flat, {name: array.shape for name, array in runs[0].items()})


def views(flat: Tensor, shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Named views (runs, *shape) of the columns of a tensor (runs, values)."""
    parts = flat.split([int(np.prod(shape)) for shape in shapes.values()], dim=1)
    return {
        name: part.view(len(flat), *shape)
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def stepper(
    system: ModuleType,
    parameters: dict[str, Any],
    flat: Tensor,
    state: dict[str, Tensor],
    problem: Any,
    frozen: bool = False,
) -> Callable[[], None]:
    """The function that advances all runs by one step, in place.

    A trained system follows AdamW, on all of its arrays or, if ``frozen``, on all but the
    embedding. A simulated system has its own step.
    """
    if not hasattr(system, "gradients"):
        return lambda: system.step(state, problem)
    every = torch.zeros_like(flat)
    gradient = views(every, {name: view.shape[1:] for name, view in state.items()})
    trained = slice(state["embedding"][0].numel() if frozen else 0, None)
    optimizer = AdamW(flat[:, trained], parameters["learning_rate"], parameters["weight_decay"])

    def step() -> None:
        system.gradients(state, problem, gradient)
        optimizer.step(every[:, trained])

    return step


def initial(point: Point, seed: int, base: np.ndarray | None) -> dict[str, np.ndarray]:
    """The arrays of a run at step 0, after its interventions, float64.

    The embedding comes first. ``base`` are the final signals that an intervention looks at.
    """
    streams = point.seeds(seed)
    arrays = systems.load(point.system).initial(point.parameters, streams)
    embedding, draws = arrays.pop("embedding"), streams.stream("intervention")
    for intervention in point.interventions:
        for name, arguments in intervention.items():
            embedding = interventions.apply(name, arguments, embedding, draws, base)
    return {"embedding": embedding, **arrays}


def base_signals(block: Block) -> dict[int, np.ndarray]:
    """Final signals of the runs that those of a block start from, by seed; NaN if it diverged."""
    found = {}
    for base in block.bases:
        final = io.read_log(base, "signals", [base.point.steps]).sort_values("frequency")
        found |= {seed: rows["signal"].to_numpy() for seed, rows in final.groupby("seed")}
    return found


@torch.no_grad()
def run(
    point: Point,
    seeds: list[int],
    device: torch.device,
    progress: Progress | None = None,
    bases: dict[int, np.ndarray] | None = None,
) -> dict[str, pa.Table]:
    """Run some seeds of a point from step 0 to the end and return their logs by kind.

    On a GPU all of them advance together, on a CPU as many as the system says.
    """
    system = systems.load(point.system)
    size = len(seeds) if device.type == "cuda" else getattr(system, "CPU_RUNS", len(seeds))
    parts = [seeds[i : i + size] for i in range(0, len(seeds), size)]
    made = []
    for i, part in enumerate(parts):

        def advance(done: int, steps: int, before: int = i) -> None:
            if progress is not None:
                progress(before * steps + done, len(parts) * steps)

        made.append(_run_together(system, point, part, device, advance, bases or {}))
    return {kind: pa.concat_tables([tables[kind] for tables in made]) for kind in point.logs}


def _run_together(
    system: ModuleType,
    point: Point,
    seeds: list[int],
    device: torch.device,
    progress: Progress,
    bases: dict[int, np.ndarray],
) -> dict[str, pa.Table]:
    """Run some seeds as one tensor program."""
    dtype = getattr(torch, point.settings["dtype"])
    streams: list[Seeds] = [point.seeds(seed) for seed in seeds]
    starts = [initial(point, seed, bases.get(seed)) for seed in seeds]
    flat, state = stacked(starts, dtype, device)
    problem = system.problem(point.parameters, streams, dtype, device)
    step = stepper(
        system, point.parameters, flat, state, problem, frozen=point.intervenes("freeze")
    )
    recorder = Recorder(point, seeds)
    # Without a base whatever is not finite has diverged.
    startable = torch.isfinite(flat).all(1).cpu().numpy() | (point.base is None)

    started = time.perf_counter()
    for done in range(point.steps + 1):
        due = recorder.due(done)
        if "curves" in due:
            recorder.curves(done, system.curves(state, problem))
        if "gradients" in due:
            recorder.gradients(done, _embedding_gradient(system, state, problem))
        recorder.arrays(done, state, due)
        progress(done, point.steps)
        if done < point.steps:
            step()
    seconds = time.perf_counter() - started

    finite = torch.isfinite(flat).all(1).cpu().numpy()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return recorder.tables(streams, startable, finite, seconds / len(seeds), name)


def _embedding_gradient(system: ModuleType, state: dict[str, Tensor], problem: Any) -> Tensor:
    """Gradient of the loss of every run by its embedding, (runs, p, d)."""
    out = {name: torch.empty_like(values) for name, values in state.items()}
    system.gradients(state, problem, out)
    return out["embedding"]


def run_block(block: Block, device: str = "auto", progress: Progress | None = None) -> None:
    """Run a block and write its logs.

    The log of outcomes is written last, so that a block with it is complete. Raises CircletError
    on a missing GPU, too little memory or a full disk.
    """
    # One thread: the matrices are small, and blocks run side by side. Threads would only spin.
    torch.set_num_threads(1)
    chosen = find_device(device)
    point = block.point
    started = time.perf_counter()
    try:
        tables = run(point, list(block.seeds), chosen, progress, base_signals(block))
    except (MemoryError, RuntimeError) as error:
        # torch says so in words only.
        full = any(text in str(error) for text in ("can't allocate memory", "out of memory"))
        if isinstance(error, MemoryError) or full:
            raise CircletError(
                f"{point.experiment}/{point.name}: no memory for {block.count} runs at once; set a "
                "smaller `block`"
            ) from error
        raise
    footer = io.provenance() | {
        "spec": point.spec,
        "parameters": point.parameters,
        "seeds": block.ends,
        "code": source.digest(__name__, f"circlet.systems.{point.system}"),
        "device": str(chosen),
        "seconds": round(time.perf_counter() - started, 3),
    }
    for kind in reversed(point.logs):
        io.write(tables[kind], block.log(kind), footer)
