"""Embedding and one hidden layer, with a temperature that divides the logits.

Khanh (2026, arXiv:2606.18465) has this network: GELU, p = 59 and 97, weight decay of matrices only.
"""

from circlet.collections.delays import systems as shared
from circlet.systems import parameters
from circlet.systems.spec import SystemSpec, choice, integer, number

SYSTEM = SystemSpec(
    version=1,
    embedding="embedding",
    metrics=shared.METRICS,
    logs={"curves": parameters.CURVES},
    outcomes=shared.OUTCOMES,
    requires=(parameters.HAS_TRAIN_PAIRS,),
    # The hidden layer on p numbers, the output layer on pairs; forward, and twice that backward.
    flops_per_step=lambda p, d, hidden, train_fraction, **_: (
        6 * hidden * (2 * p * d + train_fraction * p * p * (p + 20))
    ),
    flops_per_second=30e9,
    weights=lambda p, d, hidden, **_: p * d + hidden * (2 * d + 1) + p * (hidden + 1),
    activations=lambda p, hidden, **_: p * p * (6 * hidden + 5 * p),
    cpu_batch=lambda **_: 1,
    parameters={
        "p": shared.P,
        "d": parameters.dimension(128),
        "hidden": integer("Hidden neurons.", 256, minimum=1),
        "train_fraction": shared.TRAIN_FRACTION,
        "learning_rate": shared.LEARNING_RATE,
        "weight_decay": parameters.weight_decay(1.0, "Decoupled weight decay of matrices (AdamW)."),
        "temperature": number("Divides the logits; it is not trained.", 1.0, exclusiveMinimum=0),
        "loss": choice(
            "Loss that training minimises; squared_error compares logits with a one-hot vector.",
            "cross_entropy",
            "squared_error",
        ),
        "residual": parameters.RESIDUAL,
    },
)
