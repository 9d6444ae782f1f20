"""A transformer of one layer, attention and MLP without normalisation, that adds two numbers.

Its network resembles those of Nanda et al. (2023, arXiv:2301.05217) and of the papers of 2026.
"""

from circlet.collections.delays import systems as shared
from circlet.systems import parameters
from circlet.systems.spec import Rule, SystemSpec, integer

SYSTEM = SystemSpec(
    version=1,
    embedding="embedding",
    metrics=shared.METRICS,
    logs={"curves": parameters.CURVES},
    outcomes=shared.OUTCOMES,
    requires=(
        parameters.HAS_TRAIN_PAIRS,
        Rule("heads divides d", lambda d, heads, **_: d % heads == 0),
    ),
    # Keys and values of p numbers; output of attention, MLP and logits of pairs; three passes.
    flops_per_step=lambda p, d, hidden, train_fraction, **_: (
        6 * (4 * p * d * d + train_fraction * p * p * (d * (d + 2 * hidden + p + 20) + 20 * hidden))
    ),
    flops_per_second=30e9,
    weights=lambda p, d, hidden, **_: d * (2 * p + 4) + 4 * d * d + hidden * (2 * d + 1),
    activations=lambda p, d, hidden, **_: p * p * (12 * d + 6 * hidden + 5 * p),
    cpu_batch=lambda **_: 1,
    parameters={
        "p": shared.P,
        "d": parameters.dimension(64),
        "heads": integer("Heads of attention, of d / heads dimensions each.", 4, minimum=1),
        "hidden": integer("Width of the MLP.", 256, minimum=1),
        "train_fraction": shared.TRAIN_FRACTION,
        "learning_rate": shared.LEARNING_RATE,
        "weight_decay": parameters.weight_decay(1.0, parameters.DECOUPLED),
    },
)
