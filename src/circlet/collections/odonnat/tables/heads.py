"""Table ``heads``: clustering head and training phases of each run.

The table measures what Odonnat et al. show in pictures; definitions are ours (see ``clusters``).

head_present
    for p = 2: at the last step the integer signature is legal and rho_integer < 0.05.
clustered
    at the last step there is a tight cluster for each prefix without its order, rho_histogram <
    0.05; for any p, but it misses heads with negative weights or weight on a distractor.
drop_step, structure_step, fit_step
    the two phases: the first logged step with a test loss below 0.6 / ln 2 times chance; the
    first of three snapshots in a row, five epochs apart, with a legal signature, rho_integer < 0.1
    and at most 24 clusters; the first logged step with a test accuracy above 0.98.
"""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from torch import Tensor

from circlet.analysis import log_frames
from circlet.collections.odonnat import clusters, success
from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.storage import parquet
from circlet.storage.schema import RUN_SEEDS, Frames, column
from circlet.study.blocks import Block
from circlet.study.plan import Study

SYSTEMS = ("sparse_transformer",)
LOGS = ("runs", "curves", "parameters")
COLUMNS = [
    *RUN_SEEDS,
    column("success", "bool", "last test accuracy above 0.98"),
    column("stuck", "bool", "last test accuracy below 0.6, as by chance for p = 2"),
    column("test_accuracy", "float64", "at the last step", "0..1"),
    column("best_test_accuracy", "float64", "largest that was logged", "0..1"),
    column("head_present", "bool", "legal signature, rho_integer < 0.05, at the end; of p = 2"),
    column("clustered", "bool", "rho_histogram < 0.05 at the end; of any p"),
    column("kind", "string", "uniform, signed, or distractor: weight on one; of heads"),
    column("integers", pa.list_(pa.int32()), "integer signature, a weight per position"),
    column("legal", "bool", "whether the label follows from the weighted sum"),
    column("n_clusters", "int32", "values that the weighted sum takes"),
    column("rho_integer", "float64", "variance of xi within these clusters / total"),
    column("rho_suffix", "float64", "the same, a class for each prefix"),
    column("rho_histogram", "float64", "the same, prefixes without their order"),
    column("rho_sum", "float64", "the same, integer sums of prefixes"),
    column("distractor_attention", "float64", "mean attention beyond the prefix", "0..1"),
    column("drop_step", "int32", "first step with test loss below 0.866 of chance's"),
    column(
        "structure_step",
        "int32",
        "step at which the head forms; null: never, or parameters not logged every 5 epochs",
    ),
    column(
        "structure_step_after",
        "int32",
        "last snapshot before; null: parameters not logged every 5 epochs",
    ),
    column("fit_step", "int32", "first step with test accuracy above 0.98"),
    column("steps_per_epoch", "int32", "steps in an epoch"),
]

_STRIDE, _IN_A_ROW = 5, 3  # epochs between snapshots of a forming head; how many must show it


def kind(integers: np.ndarray, k: int) -> str:
    """Kind of a legal signature: ``uniform``, ``signed``, or with weight on a ``distractor``."""
    if integers[k:].any():
        return "distractor"
    return "uniform" if (integers[:k] == integers[0]).all() else "signed"


def distractor_attention(weights: dict[str, Tensor], of: clusters.Probes, p: int, k: int) -> Tensor:
    """Return each network's mean attention to all distractors together, (networks,)."""
    length = weights["position"].shape[1]
    _, _, score, _ = system.tables(weights, p)
    alpha = torch.cat([system.attention(part, of.chosen) for part in score.split(32)])
    share = alpha.mean(2).unflatten(1, (p, length))  # mean over all sequences
    return share[:, :, k:].sum((1, 2))


def first(steps: np.ndarray, holds: np.ndarray) -> int | None:
    """The first step at which something holds, or none."""
    return int(steps[holds.argmax()]) if holds.any() else None


def snapshots(block: Block) -> list[int]:
    """Steps of the snapshots in which a head is looked for; none unless each of them is logged."""
    point = block.point
    grid = range(0, point.steps + 1, _STRIDE * point.steps_per_epoch)
    return list(grid) if set(grid) <= set(point.steps_logged("parameters")) else []


def structure_steps(
    arrays: dict[str, np.ndarray], steps: list[int], of: clusters.Probes, p: int, k: int
) -> list[tuple[int | None, int | None]]:
    """The step at which the head of each run of a block forms, and the last snapshot before.

    ``arrays`` are the weights of the block, (steps, runs, ...), at ``steps`` and perhaps later. The
    step is None if the head never forms; without snapshots both are None.
    """
    runs = arrays["embedding"].shape[1]
    if len(steps) < _IN_A_ROW:
        return [(None, None)] * runs
    present = []
    for run in range(runs):
        weights = {n: torch.as_tensor(a[: len(steps), run].copy()) for n, a in arrays.items()}
        signature = clusters.signature(clusters.embed(weights, of, p), of.tokens, p, k)
        present.append(clusters.is_head(signature, clusters.FORMING, clusters.MAX_CLUSTERS).numpy())
    windows = np.lib.stride_tricks.sliding_window_view(np.array(present), _IN_A_ROW, axis=1)
    forms = [first(np.array(steps), row) for row in np.all(windows, axis=2)]
    return [
        (step, steps[-_IN_A_ROW] if step is None else steps[max(steps.index(step) - 1, 0)])
        for step in forms
    ]


@torch.no_grad()
def _block(block: Block) -> pd.DataFrame:
    """Measure all runs of a block with finite final weights, finished or not."""
    point = block.point
    p, k, length = (point.parameters[name] for name in ("p", "k", "length"))
    of = clusters.probes(p, length, k)
    seen = snapshots(block)
    arrays = parquet.read_weights(block, sorted({point.steps, *seen}))
    weights = {name: torch.as_tensor(array[-1]) for name, array in arrays.items()}
    finite = torch.stack([torch.isfinite(w).flatten(1).all(1) for w in weights.values()]).all(0)
    weights = {name: w.nan_to_num(0.0) for name, w in weights.items()}
    xi = clusters.embed(weights, of, p)
    signature = clusters.signature(xi, of.tokens, p, k)
    forms = structure_steps(arrays, seen, of, p, k)
    # For p > 2 tokens need not lie at equal distances, so a head may have no integers.
    is_head = clusters.is_head(signature).numpy()
    present = is_head if p == 2 else [None] * block.count
    integers = signature.integers.numpy()
    columns = {
        "head_present": present,
        "legal": signature.legal.numpy(),
        "kind": [
            kind(w, k) if is_present else None
            for w, is_present in zip(integers, present, strict=True)
        ],
        "integers": list(integers),
        "n_clusters": signature.n_clusters.numpy(),
        "rho_integer": signature.rho.numpy(),
        "distractor_attention": distractor_attention(weights, of, p, k),
        "structure_step": [step for step, _ in forms],
        "structure_step_after": [before for _, before in forms],
    }
    for name, classes in of.classes.items():
        columns[f"rho_{name}"] = clusters.variance_ratio(xi, torch.as_tensor(classes)[None]).numpy()
    columns["clustered"] = columns["rho_histogram"] < clusters.HEAD
    frame = pd.DataFrame(columns).assign(seed=list(block.seeds)).astype({"head_present": "boolean"})
    return frame[finite.numpy()]


def phases(curves: pd.DataFrame, p: int) -> dict:
    """First drop of the loss, fit, best and last test accuracy of a run."""
    curves = curves.sort_values("step")
    steps, accuracy = curves["step"].to_numpy(), curves["test_accuracy"].to_numpy()
    below = curves["test_loss"].to_numpy() < 0.6 / math.log(2) * math.log(p)
    return {
        "drop_step": first(steps, below),
        "fit_step": first(steps, accuracy > success.SOLVED),
        "best_test_accuracy": accuracy.max(),
        "test_accuracy": accuracy[-1],
        "success": accuracy[-1] > success.SOLVED,
        "stuck": accuracy[-1] < success.STUCK,
    }


def table(study: Study) -> Frames:
    """A row per finished run."""
    for block in study.blocks:
        curves = log_frames.finished(block, "curves")
        if curves.empty:
            continue
        p = block.point.parameters["p"]
        rows = [{"seed": seed, **phases(run, p)} for seed, run in curves.groupby("seed")]
        frame = log_frames.named(pd.DataFrame(rows).merge(_block(block), on="seed"), block)
        steps = ["drop_step", "structure_step", "structure_step_after", "fit_step"]
        frame = frame.astype(dict.fromkeys(steps, "Int64"))
        yield frame.assign(steps_per_epoch=block.point.steps_per_epoch)
