"""Table ``network_forces``: embedding gradient fitted by the particle forces, per run and step.

At every logged step minus the gradient of the mean cross-entropy is written as a weighted sum of
attraction, repulsion and alignment (`circlet.collections.findings.forces`). Weight decay is no part
of the loss and is left out. The same is done with 40 other labellings of the numbers: their mean is
what the forces explain without knowing the classes.
"""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circlet.analysis import log_frames
from circlet.collections.findings import forces
from circlet.lazy_import import load
from circlet.storage import parquet
from circlet.storage.schema import RUN, SEED, STEP, column
from circlet.study.blocks import Block
from circlet.study.plan import Study

ROLES = ("network_forces",)
LOGS = ("runs", "parameters")
TABLES = ("structures",)

_MEASURES = {
    "r2": "share of the squared norm of the projected gradient that the three forces explain",
    **{f"cosine_{name}": f"cosine of {name} with minus the gradient" for name in forces.FORCES},
}
COLUMNS = [
    RUN,
    SEED,
    column("structure", "string", "at the end: circle; of the others of the point, grid if its "
           "imperfections are at most their median, else imperfect"),
    column("imperfections", "int32", "at the end, as in structures"),
    STEP,
    column("pairs", "string", "pairs that the gradient is of: train, or all"),
    column("projected", "float64", "share of the squared norm of the gradient that is left when "
           "shift and scale of every coordinate are removed", "0..1"),
    *(column(f"coefficient_{name}", "float64", f"of {name}, for a projected gradient of norm 1 "
             "at an embedding of standard deviation 0.5") for name in forces.FORCES),
    *(
        field
        for name, meaning in _MEASURES.items()
        for field in (
            column(name, "float64", meaning),
            column(f"{name}_null", "float64", f"{name}: mean over other labellings"),
            column(f"{name}_null_high", "float64", f"{name}: 97.5 % quantile over them"),
        )
    ),
]  # fmt: skip

_RELABELLED = 40  # with fewer there is no 97.5 % quantile
_PAIRS = ("train", "all")


def structure(runs: pd.DataFrame) -> pd.Series:
    """Return the final structure of each run of one point, from its rows of ``structures``.

    Non-circles with at most the median number of imperfections are called grids, because hardly
    any trained network has a grid without imperfections.
    """
    is_circle = runs["is_circle"].astype(bool)
    median = runs.loc[~is_circle, "imperfections"].median()
    structures = (runs["imperfections"] <= median).map({True: "grid", False: "imperfect"})
    return structures.mask(is_circle, "circle")


def gradients(block: Block, weights: dict[str, Tensor]) -> Float[Tensor, "2 runs p d"]:
    """Return all runs' embedding gradients of the loss on train pairs and of that on all pairs."""
    point = block.point
    equations = load(point.system.equations)  # of another collection: no direct import
    seeds = [point.seeds(seed) for seed in block.seeds]
    data = equations.data(point.parameters, seeds, torch.float64, torch.device("cpu"))
    out = {name: torch.empty_like(array) for name, array in weights.items()}
    parts, sizes = [], []
    for examples in (data.train, data.test):
        equations.gradients(weights, replace(data, train=examples), out)
        parts.append(out["embedding"].clone())
        sizes.append(examples.target.shape[-1])
    train, test = parts
    return torch.stack([train, (sizes[0] * train + sizes[1] * test) / sum(sizes)])


def measured(
    gradient: Float[Tensor, "2 p d"], embedding: Float[Tensor, "p d"]
) -> Iterator[dict[str, float | str]]:
    """Yield the columns of one run and step, for the train pairs and for all pairs."""
    labels = forces.labellings(len(embedding), _RELABELLED)
    positions = forces.placed(embedding)
    norms = (field.norm(dim=(1, 2)) for field in (forces.projected(gradient, positions), gradient))
    projected_share = torch.div(*norms).square()
    fits = forces.fits(-gradient, positions, labels)
    values = torch.cat([fits.r2[..., None], fits.cosine], -1)  # as _MEASURES
    parts = {
        "": values[:, 0],
        "_null": values[:, 1:].mean(1),
        "_null_high": values[:, 1:].quantile(0.975, 1),
    }
    for i, pairs in enumerate(_PAIRS):
        row: dict[str, float | str] = {"pairs": pairs, "projected": float(projected_share[i])}
        for name, coefficient in zip(forces.FORCES, fits.coefficient[i, 0].tolist(), strict=True):
            row[f"coefficient_{name}"] = coefficient
        for end, part in parts.items():
            names = (name + end for name in _MEASURES)
            row |= dict(zip(names, part[i].tolist(), strict=True))
        yield row


def table(study: Study) -> Iterator[dict]:
    """Yield a row per finished run, logged step and set of pairs (train or all)."""
    ends = parquet.read_table(study, "structures", "network_forces").set_index("run_id")
    of_point = ends.index.str.rsplit("/", n=1).str[0]
    kinds = pd.concat([structure(runs) for _, runs in ends.groupby(of_point)]) if len(ends) else {}
    for block in study.blocks:
        logged = parquet.read_weights(block)
        runs = log_frames.finished(block, "runs")
        for i, step in enumerate(block.point.steps_logged("parameters")):
            weights = {k: torch.as_tensor(v[i], dtype=torch.float64) for k, v in logged.items()}
            of_runs = gradients(block, weights)
            for run in runs.itertuples():
                at = run.seed - block.first
                keys = {
                    "run_id": run.run_id,
                    "structure": kinds[run.run_id],
                    "imperfections": ends["imperfections"][run.run_id],
                    "step": step,
                }
                for row in measured(of_runs[:, at], weights["embedding"][at]):
                    yield keys | row
