"""Table ``explorer_states``: arrays of the runs that the explorer shows, per step.

The arrays are ``embedding``, if there is one; every weight and bias of networks that the page
computes; ``signals`` of its frequencies; ``curves``: the metrics of its system, in their order;
``answers`` and ``probability``, (p, p): the class that a larger network answers to each ordered
pair of numbers, and its probability; ``trained``, at step 0: which pairs these networks are trained
on (1) and which are held out (0), if the equations have a ``train_mask``.
`circlet.sweeps.explorer_budget` chooses runs and steps; the steps nearest to the moments of a run
are added. Diverged runs are included up to their last logged step.
"""

import numpy as np

from circlet.lazy_import import load
from circlet.storage import parquet
from circlet.storage.schema import ARRAY, RUN, STEP, Rows, column
from circlet.study.blocks import Block
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.sweeps import explorer_budget

LOGS = ("embeddings", "signals", "curves", "parameters")
TABLES = ("explorer_runs",)
COLUMNS = [
    RUN,
    STEP,
    column(
        "name",
        "string",
        "embedding, signals, curves, answers, probability, trained, or name of a weight",
    ),
    *ARRAY,
]

# Name of a log's array, the column with its values, and the one that orders them within a run.
_VALUES = {
    "embeddings": ("embedding", "vector", "token"),
    "signals": ("signals", "signal", "frequency"),
}


def _arrays(block: Block, kind: str, steps: list[int]) -> dict[str, np.ndarray]:
    """Return the arrays of a log by name, (steps, runs, *shape)."""
    if kind == "parameters" and not block.point.system.explorer_weights:
        return _answers(block, steps)
    if kind == "parameters":
        weights = parquet.read_weights(block, steps)
        if "embeddings" in explorer_budget.arrays(block.point):
            del weights["embedding"]  # the log of embeddings has it
        return weights
    rows = parquet.read_log(block, kind, steps)
    if kind == "curves":
        measured = rows.sort_values(["step", "seed"])[list(block.point.system.metrics)].to_numpy()
        return {"curves": measured.reshape(len(steps), block.count, -1)}
    name, column, order = _VALUES[kind]
    cells = rows.sort_values(["step", "seed", order])[column]
    values = np.stack(cells) if cells.dtype == object else cells.to_numpy()
    return {name: values.reshape(len(steps), block.count, -1, *values.shape[1:])}


def _answers(block: Block, steps: list[int]) -> dict[str, np.ndarray]:
    """Return answers to all ordered pairs, and their probabilities, (steps, runs, p, p) each."""
    torch = load("torch")
    equations = load(block.point.system.equations)
    logged = parquet.read_weights(block, steps)
    shape = (len(steps), block.count)
    pairs = [logged["embedding"].shape[2]] * 2
    arrays = {name: np.empty((*shape, *pairs), np.float32) for name in ("answers", "probability")}
    for place in np.ndindex(shape):
        weights = {name: torch.as_tensor(values[place]) for name, values in logged.items()}
        embedding = weights["embedding"]
        left, right = (x.expand(*pairs, -1) for x in (embedding[:, None], embedding[None]))
        _, logits = equations.forward(weights, block.point.parameters, left, right)
        arrays["probability"][place], arrays["answers"][place] = logits.softmax(-1).max(-1)
    return arrays


def _steps(point: Point, kind: str, how: str, moments: list[int]) -> set[int]:
    if how == "end":  # the table of runs has final metrics
        return set() if kind == "curves" else {point.steps}
    if how != "training":
        return set()
    logged = np.array(point.steps_logged(kind))
    nearest = (int(logged[np.abs(logged - moment).argmin()]) for moment in moments)
    return {*explorer_budget.frames(point, kind), *nearest}


def _rows(block: Block, shown: dict[int, str], moments: dict[int, list[int]]) -> Rows:
    for kind in explorer_budget.arrays(block.point):
        steps_by_seed = {
            seed: _steps(block.point, kind, shown.get(seed, "nothing"), moments.get(seed, []))
            for seed in block.seeds
        }
        all_steps = sorted(set().union(*steps_by_seed.values()))
        for name, array in _arrays(block, kind, all_steps).items() if all_steps else ():
            for i, step in enumerate(all_steps):
                for seed, steps in steps_by_seed.items():
                    if step in steps:
                        values = array[i, seed - block.first]
                        yield {
                            "run_id": block.point.run_id(seed),
                            "step": step,
                            "name": name,
                            "shape": values.shape,
                            "values": values.astype(np.float32).ravel(),
                        }


def _trained(block: Block, shown: dict[int, str]) -> Rows:
    """Yield which pairs a run is trained on, for the runs of a block whose network is shown."""
    point = block.point
    if "parameters" not in explorer_budget.arrays(point):
        return
    mask = getattr(load(point.system.equations), "train_mask", None)
    if mask is None:
        return
    for seed in block.seeds:
        if shown.get(seed) in ("training", "end"):
            values = mask(point.parameters, point.seeds(seed)).astype(np.float32)
            row = {"run_id": point.run_id(seed), "step": 0, "name": "trained"}
            yield row | {"shape": values.shape, "values": values}


def table(study: Study) -> Rows:
    """Yield a row per run, step and array."""
    runs = parquet.read_table(study, "explorer_runs")
    shown = dict(zip(runs["run_id"], runs["shown"], strict=True))
    with_moments = runs.dropna(subset=["moments"])
    moments = {
        run_id: [moment["step"] for moment in of_run]
        for run_id, of_run in zip(with_moments["run_id"], with_moments["moments"], strict=True)
    }
    for block in study.blocks:
        run_ids = {seed: block.point.run_id(seed) for seed in block.seeds}
        of_seeds = {s: shown.get(run_id, "nothing") for s, run_id in run_ids.items()}
        of_block = {s: moments[run_id] for s, run_id in run_ids.items() if run_id in moments}
        yield from _rows(block, of_seeds, of_block)
        yield from _trained(block, of_seeds)
