"""Table ``progress_measures``: restricted loss and other progress measures, per run and step.

Measured on the log ``parameters``, at each logged step. The key frequencies of a run are those of
its last step, as in Nanda et al.; losses with and without them are measured at every step, over all
pairs, train and test, but the excluded loss over the train pairs.

The architecture of ``constant_attention`` fixes the gradient symmetricity at 1 and gives both
operands the same phase: the network only sees E_a + E_b, whose length depends on a - b. Such a
network cannot be a clock in the sense of Zhong et al.; the distance irrelevance says how far the
layers above compensate for it. ``embedding_mlp`` has separate weights for each operand, so nothing
is fixed; its neurons are those of the second hidden layer.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from circlet.analysis import log_frames, spectrum
from circlet.collections.findings import interpretation
from circlet.lazy_import import load
from circlet.storage import parquet
from circlet.storage.schema import RUN, SEED, STEP, Rows, column
from circlet.study.plan import Study

SYSTEMS = ("constant_attention", "embedding_mlp")
LOGS = ("runs", "parameters")
USES = ("equations",)
DERIVED_METRICS = {
    "restricted_loss": ("mean cross-entropy of all pairs by the key frequencies alone", "nat"),
    "excluded_loss": ("mean cross-entropy of train pairs without the key frequencies", "nat"),
    "fourier_gini": ("Gini coefficient of the signals of the embedding", "0..1"),
    "fourier_ipr": ("inverse participation ratio of the signals of the embedding", "0..1"),
    "distance_irrelevance": ("spread of correct logits at fixed a - b, by their spread", "0..1"),
    "gradient_symmetricity": ("mean cosine of a logit's gradients by E_a and E_b, -1..1", ""),
    "phase_alignment": ("mean cosine of output phase minus input phases of neurons, -1..1", ""),
}
COLUMNS = [
    RUN,
    SEED,
    STEP,
    column("n_key_frequencies", "int32", "signals above twice the mean at the last step"),
    column("train_loss", "float64", "mean cross-entropy of train pairs", "nat"),
    column("test_loss", "float64", "mean cross-entropy of test pairs", "nat"),
    *(column(name, "float64", *described) for name, described in DERIVED_METRICS.items()),
]


def gradients(
    equations: Any, weights: dict[str, Tensor], parameters: dict[str, Any]
) -> tuple[Tensor, Tensor]:
    """Gradients of the logits of random triples by E_a and by E_b, both (triples, d)."""
    a, b, c = torch.as_tensor(interpretation.triples(parameters["p"])).T
    left, right = (weights["embedding"][x].requires_grad_() for x in (a, b))
    _, logits = equations.forward(weights, parameters, left, right)
    derivatives = torch.autograd.grad(logits.gather(1, c[:, None]).sum(), (left, right))
    return derivatives[0], derivatives[1]


# If all weights are 0, spectrum and phases are undefined: NaN.
@np.errstate(invalid="ignore", divide="ignore")
def measured(
    equations: Any,
    weights: dict[str, Tensor],
    parameters: dict[str, Any],
    train: np.ndarray,
    frequencies: np.ndarray,
) -> dict[str, float]:
    """The measures of a network at one step.

    ``weights`` are float64, ``train`` says which of ``equations.pairs(p)`` were trained on, and
    ``frequencies`` are the key frequencies.
    """
    p, embedding = parameters["p"], weights["embedding"]
    shape = (p, p, embedding.shape[1])
    left, right = embedding[:, None].expand(shape), embedding[None].expand(shape)
    activations, scores = equations.forward(weights, parameters, left, right)
    logits = scores.numpy()
    restricted, excluded = interpretation.restricted_and_excluded(logits, frequencies)
    a, b = equations.pairs(p).T
    loss, restricted_loss, excluded_loss = (
        interpretation.cross_entropy(x)[a, b] for x in (logits, restricted, excluded)
    )
    signals = spectrum.signals(embedding.numpy())[spectrum.frequencies(p)]
    by_operand = gradients(equations, weights, parameters)
    output = weights["output.weight"].numpy()
    return {
        "n_key_frequencies": len(frequencies),
        "train_loss": loss[train].mean(),
        "test_loss": loss[~train].mean(),
        "restricted_loss": restricted_loss.mean(),
        "excluded_loss": excluded_loss[train].mean(),
        "fourier_gini": interpretation.gini(signals),
        "fourier_ipr": interpretation.inverse_participation_ratio(signals),
        "distance_irrelevance": interpretation.distance_irrelevance(logits),
        "gradient_symmetricity": interpretation.gradient_symmetricity(*by_operand),
        "phase_alignment": interpretation.phase_alignment(activations.numpy(), output),
    }


def table(study: Study) -> Rows:
    """Yield a row per finished run and logged step; runs without the log have no rows."""
    for block in study.blocks:
        point = block.point
        steps = point.steps_logged("parameters")
        if not steps:
            continue
        equations = load(point.system.equations)
        logged = parquet.read_weights(block)  # (steps, runs, *shape)
        done = log_frames.finished(block, "runs")
        for run_id, seed in zip(done["run_id"], done["seed"], strict=True):
            of_run = {k: v[:, seed - block.first].astype(float) for k, v in logged.items()}
            train = equations.train_mask(point.parameters, point.seeds(seed))
            frequencies = interpretation.key_frequencies(of_run["embedding"][-1])
            for i, step in enumerate(steps):
                weights = {name: torch.as_tensor(values[i]) for name, values in of_run.items()}
                measures = measured(equations, weights, point.parameters, train, frequencies)
                yield {"run_id": run_id, "step": step} | measures
