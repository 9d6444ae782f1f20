"""Table ``spikes``: height, cause, amplifier and sharpness of each loss spike.

A spike begins at a logged step, more than ten logged steps after the fit, whose train loss is more
than ten times the median of the ten before, and above 1e-4 nat. Such steps no more than ten apart
are one spike, because medians of later steps include earlier ones; counted singly, spikes would be
nearly twice as many. A spike is attributed by hybrids of the networks just before and just after
it began.

cause
    with the representation (embedding, position, query, value) from after and the MLP from before,
    and the reverse: a group whose swap alone makes more than half of the jump of the train loss is
    a cause; ``joint``: neither alone. The embedding is the unembedding, too.
amplifier
    the layer that turns a small change into a large one, for the sequences that carry the spike
    (the fewest that make half of all increases of the loss). The norm amplifies a change of xi by
    sqrt(d) / |xi|, the MLP by the slope of the margin of the right class in norm(xi).
norm_gain_quiet, mlp_gain_quiet, boundary_distance_quiet
    of the first two of the ten logged steps before. Sequences whose loss rises lie where the
    classifier is steep even in quiet times; the ratio of the two gains is what the spike adds.

``sharpness_quiet`` is known if the network had fitted by then.
"""

import math

import numpy as np
import pandas as pd
import torch
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from torch import Tensor

from circlet.analysis import log_frames
from circlet.collections.odonnat import success
from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.storage import parquet
from circlet.storage.schema import RUN, SEED, Frames, column, names
from circlet.study.blocks import Block
from circlet.study.plan import Study
from circlet.systems import loss

SYSTEMS = ("sparse_transformer",)
LOGS = ("runs", "curves", "parameters")
COLUMNS = [
    RUN,
    SEED,
    column("step", "int32", "logged step at which it begins"),
    column("last_step", "int32", "last logged step that counts to it"),
    column("before", "int32", "logged step before it begins"),
    column("height", "float64", "largest train loss in it", "nat"),
    column("baseline", "float64", "median of the ten train losses before it", "nat"),
    column("loss_before", "float64", "train loss one logged step before", "nat"),
    column("loss_after", "float64", "train loss where it begins", "nat"),
    column("cause", "string", "representation, mlp, both or joint; null: not logged"),
    column("by_representation", "float64", "share of the jump by its swap alone"),
    column("by_mlp", "float64", "share of the jump that the MLP's swap makes alone"),
    column("amplifier", "string", "normalisation or feed_forward, by the larger gain"),
    column("norm_gain", "float64", "1 / |xi| of the carriers, by the median sequence's"),
    column("mlp_gain", "float64", "slope of their margin, by the median sequence's"),
    column("boundary_distance", "float64", "their |margin| / slope, by the median sequence's"),
    column("norm_gain_quiet", "float64", "norm_gain of a quiet pair of steps before"),
    column("mlp_gain_quiet", "float64", "mlp_gain of that pair"),
    column("boundary_distance_quiet", "float64", "boundary_distance of that pair"),
    column("sharpness", "float64", "largest eigenvalue of the Hessian, before"),
    column("sharpness_earlier", "float64", "the same ten logged steps earlier"),
    column("sharpness_quiet", "float64", "another ten earlier; null: a spike lies between"),
]

_WINDOW, _FACTOR, _MIN_LOSS = 10, 10.0, 1e-4
_TOGETHER = 16  # spikes measured at once, to limit memory


def find(loss: np.ndarray, fit: int) -> list[tuple[int, int]]:
    """First and last index of every spike of a loss curve that is fitted from index ``fit`` on."""
    spikes: list[tuple[int, int]] = []
    for i in range(fit + _WINDOW + 1, len(loss)):
        if loss[i] > _MIN_LOSS and loss[i] > _FACTOR * np.median(loss[i - _WINDOW : i]):
            if spikes and i - spikes[-1][1] <= _WINDOW:
                spikes[-1] = (spikes[-1][0], i)
            else:
                spikes.append((i, i))
    return spikes


def of_run(curves: pd.DataFrame) -> list[dict]:
    """The spikes of a run: where they begin and how high they are."""
    curves = curves.sort_values("step")
    steps, losses = curves["step"].to_numpy(), curves["train_loss"].to_numpy()
    fitted = curves["test_accuracy"].to_numpy() > success.SOLVED
    if not fitted.any():
        return []
    fit = int(fitted.argmax())
    spikes = find(losses, fit)
    ends = [fit - 1, *(j for _, j in spikes)]  # last index that is not quiet, before each spike
    return [
        {
            "step": int(steps[i]),
            "last_step": int(steps[j]),
            "height": float(losses[i : j + 1].max()),
            "baseline": float(np.median(losses[i - _WINDOW : i])),
            "before": int(steps[i - 1]),
            "earlier": int(steps[i - _WINDOW - 1]),
            "quiet": int(steps[i - _WINDOW]),
            "earliest": int(steps[start]) if (start := i - 2 * _WINDOW - 1) > end else None,
        }
        for (i, j), end in zip(spikes, ends, strict=False)
    ]


def _losses(weights: dict[str, Tensor], xi: Tensor, of: Tensor, target: Tensor) -> Tensor:
    """Return each sequence's loss, (runs, sequences), from an MLP and unembedding ``of`` on xi."""
    logits = of @ (xi + system.mlp(weights, system.norm(xi, 1)[0]))
    return loss.cross_entropy(logits, target, 1)


def hybrids(
    before: dict[str, Tensor], after: dict[str, Tensor], chosen: system.Sequences, p: int
) -> dict[str, np.ndarray]:
    """The share of the jump of the loss that each group of parameters causes alone."""
    target = chosen.target

    def mean(representation, mlp) -> Tensor:
        xi = system.embed(representation, chosen, p)
        return _losses(mlp, xi, representation["embedding"], target).mean(1)

    start, end = mean(before, before), mean(after, after)
    alone = {"by_representation": mean(after, before), "by_mlp": mean(before, after)}
    shares = {name: ((value - start) / (end - start)).numpy() for name, value in alone.items()}
    return {"loss_before": start.numpy(), "loss_after": end.numpy()} | shares


@torch.enable_grad()
def margins(weights: dict[str, Tensor], xi: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the margin of the right class, and its slope in norm(xi) via the MLP.

    Both: (runs, sequences).
    """
    s = system.norm(xi, 1)[0].detach().requires_grad_()
    logits = weights["embedding"] @ (xi + system.mlp(weights, s))
    margin = logits.gather(1, target) - logits.scatter(1, target, -torch.inf).amax(1, keepdim=True)
    (by_s,) = torch.autograd.grad(margin.sum(), s)
    return margin.detach()[:, 0], by_s.norm(dim=1)


def gains(
    before: dict[str, Tensor], after: dict[str, Tensor], chosen: system.Sequences, p: int
) -> dict[str, np.ndarray]:
    """Return the gains of the sequences that carry a jump, relative to the median sequence."""
    target = chosen.target
    xi, later = (system.embed(weights, chosen, p) for weights in (before, after))
    rise = _losses(after, later, after["embedding"], target) - _losses(
        before, xi, before["embedding"], target
    )
    rise = rise.clamp(min=0)
    order = rise.argsort(1, descending=True)
    summed = rise.gather(1, order).cumsum(1)
    needed = (summed < summed[:, -1:] / 2).sum(1) + 1
    margin, slope = margins(before, xi, target)
    measures = {
        "norm_gain": 1 / xi.norm(dim=1),
        "mlp_gain": slope,
        "boundary_distance": margin.abs() / slope,
    }
    carriers = [order[run, :n] for run, n in enumerate(needed.tolist())]
    return {
        name: np.array(
            [
                (one[few].median() / one.median()).item()
                for one, few in zip(values, carriers, strict=True)
            ]
        )
        for name, values in measures.items()
    }


def cause(representation: float, mlp: float) -> str:
    """Name the groups of parameters that alone cause more than half of a jump."""
    names = {(True, True): "both", (True, False): "representation", (False, True): "mlp"}
    return names.get((representation > 0.5, mlp > 0.5), "joint")


def sharpness(weights: dict[str, Tensor], chosen: system.Sequences, p: int) -> np.ndarray:
    """Largest eigenvalue of the Hessian of the mean cross-entropy of every run, (runs,).

    By Lanczos' method (ARPACK), from a fixed random vector, which stops at 1e-4 of the eigenvalue.
    Products with the Hessian, which itself is never made, are in single precision.
    ``weights`` are arrays by name, (runs, ...); ``chosen`` are the sequences of the mean loss, for
    as many runs.
    """
    eigenvalues = []
    for run in (slice(i, i + 1) for i in range(len(chosen.target))):
        sequences = system.Sequences(chosen.absent[run].float(), chosen.target[run])
        eigenvalues.append(
            _sharpness({name: array[run] for name, array in weights.items()}, sequences, p)
        )
    return np.array(eigenvalues)


@torch.enable_grad()
def _sharpness(weights: dict[str, Tensor], chosen: system.Sequences, p: int) -> float:
    leaves = {name: array.float().requires_grad_() for name, array in weights.items()}
    losses, _ = loss.metrics(system.logits(leaves, chosen, p), chosen.target, 1)
    arrays = list(leaves.values())
    gradient = torch.autograd.grad(losses.sum(), arrays, create_graph=True)
    sizes = [array.numel() for array in arrays]
    n = sum(sizes)

    def product(vector: np.ndarray) -> np.ndarray:
        parts = torch.as_tensor(vector, dtype=torch.float32).split(sizes)
        along = sum((g * v.view_as(g)).sum() for g, v in zip(gradient, parts, strict=True))
        by_array = torch.autograd.grad(along, arrays, retain_graph=True)
        return torch.cat([part.flatten() for part in by_array]).numpy()

    start = np.random.default_rng(0).normal(size=n)
    hessian = LinearOperator((n, n), product, dtype=np.float64)
    try:
        (value,) = eigsh(hessian, 1, which="LA", v0=start, ncv=min(7, n), tol=1e-4,
                         return_eigenvectors=False)  # fmt: skip
    except ArpackError:  # of a loss that is not finite, or is zero; or it does not converge
        return math.nan
    return value


@torch.no_grad()
def _attributed(block: Block, spikes: pd.DataFrame) -> pd.DataFrame:
    """Add causes to a block's spikes whose networks just before and at the start are logged."""
    logged = block.point.steps_logged("parameters")
    attributable = spikes[spikes["before"].isin(logged) & spikes["step"].isin(logged)]
    starts = range(0, len(attributable), _TOGETHER)
    parts = [_measured(block, attributable.iloc[i : i + _TOGETHER]) for i in starts]
    return spikes.join(pd.concat(parts)) if parts else spikes


def _measured(block: Block, spikes: pd.DataFrame) -> pd.DataFrame:
    """Measure spikes whose networks just before and at the beginning are logged."""
    logged = block.point.steps_logged("parameters")
    p = block.point.parameters["p"]
    moments = ["before", "step", "earlier", "quiet", "earliest"]
    steps = sorted(set(spikes[moments].stack().dropna().astype(int)) & set(logged))
    weights = parquet.read_weights(block, steps)
    rows = {step: i for i, step in enumerate(steps)}

    def at(moment: str, some: pd.DataFrame) -> dict[str, Tensor]:
        places = some[moment].map(rows).to_numpy(int)
        runs = (some["seed"] - block.first).to_numpy()
        return {name: torch.as_tensor(a[places, runs]).double() for name, a in weights.items()}

    def trained_on(some: pd.DataFrame) -> system.Sequences:
        seeds = [block.point.seeds(seed) for seed in some["seed"]]
        cpu = torch.device("cpu")
        return system.data(block.point.parameters, seeds, torch.float64, cpu).train

    before, after, chosen = at("before", spikes), at("step", spikes), trained_on(spikes)
    columns = hybrids(before, after, chosen, p) | gains(before, after, chosen, p)
    measured = pd.DataFrame(columns, index=spikes.index)
    measured["sharpness"] = sharpness(before, chosen, p)
    quiet = spikes[spikes["earlier"].isin(logged) & spikes["quiet"].isin(logged)]
    if len(quiet):
        earlier, quiet_sequences = at("earlier", quiet), trained_on(quiet)
        quiet_gains = gains(earlier, at("quiet", quiet), quiet_sequences, p)
        columns = {f"{name}_quiet": values for name, values in quiet_gains.items()}
        columns["sharpness_earlier"] = sharpness(earlier, quiet_sequences, p)
        measured = measured.join(pd.DataFrame(columns, index=quiet.index))
    quiet = quiet[quiet["earliest"].isin(logged)]
    if len(quiet):
        risen = sharpness(at("earliest", quiet), trained_on(quiet), p)
        measured["sharpness_quiet"] = pd.Series(risen, quiet.index)
    shares = zip(measured["by_representation"], measured["by_mlp"], strict=True)
    measured["cause"] = [cause(*share) for share in shares]
    larger = measured["norm_gain"] >= measured["mlp_gain"]
    measured["amplifier"] = np.where(larger, "normalisation", "feed_forward")
    return measured


def table(study: Study) -> Frames:
    """A row per finished run and spike."""
    for block in study.blocks:
        curves = log_frames.finished(block, "curves")
        rows = [
            {"run_id": run_id, "seed": run["seed"].iloc[0], **spike}
            for run_id, run in curves.groupby("run_id", sort=False)
            for spike in of_run(run)
        ]
        if rows:
            yield _attributed(block, pd.DataFrame(rows)).reindex(columns=names(COLUMNS))
