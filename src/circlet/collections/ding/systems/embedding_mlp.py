"""Embedding and two-layer network on ordered pairs (Ding et al., section 2 and appendix E)."""

from circlet.systems import parameters
from circlet.systems.spec import Log, Outcome, SystemSpec, choice, integer

SYSTEM = SystemSpec(
    version=3,
    embedding="embedding",
    metrics=parameters.CROSS_ENTROPY,
    logs={
        "curves": parameters.CURVES,
        "signals": parameters.signals(per_decade=20),
        "embeddings": Log({}),
        "gradients": Log(None),
        "parameters": Log(None),
    },
    requires=(parameters.HAS_TRAIN_PAIRS,),
    # Two layers on the train pairs and the first layer's tables; forward, and twice that backward.
    flops_per_step=lambda p, d, hidden, train_fraction, **_: (
        6 * hidden * (train_fraction * p * p * (hidden + p) + 2 * p * d)
    ),
    flops_per_second=110e9,
    # Values that a run keeps, and values that it holds at the peak of a step (activations).
    weights=lambda p, d, hidden, **_: (
        p * d + hidden * (2 * d + 1) + hidden * (hidden + 1) + p * (hidden + 1)
    ),
    activations=lambda p, hidden, **_: p * p * (6 * hidden + 5 * p + 16),
    # On a CPU one run fills the caches; stacked runs would be limited by memory speed.
    cpu_batch=lambda **_: 1,
    parameters={
        "p": integer("Modulus, prime or not.", 59, label="p", minimum=3, maximum=512),
        "d": parameters.dimension(128),
        "hidden": integer("Width of both hidden layers.", 100, minimum=1),
        "activation": choice(
            "Activation of the hidden layers; silu in the paper's code.", "silu", "relu"
        ),
        "train_fraction": parameters.TRAIN_FRACTION,
        "learning_rate": parameters.LEARNING_RATE,
        "weight_decay": parameters.weight_decay(0.5, parameters.DECOUPLED),
        "initialisation": choice(
            "Initial linear layers. torch: PyTorch's default, weights and biases uniform "
            "between +-1/sqrt(fan_in), as in the paper's code; normal: N(0, 1), as in the paper's "
            "text.",
            "torch",
            "normal",
        ),
        "embedding_std": parameters.EMBEDDING_STD,
        "residual": parameters.RESIDUAL,
    },
    outcomes=(
        Outcome("n_circles", "number of circles", "count", "circle_counts"),
        parameters.TEST_ACCURACY,
        Outcome("n_circles_absolute", "number of circles by rule B", "count", "circle_counts"),
        *(
            Outcome(name, label, "mean", "circle_counts", unit="0..1", seed="embedding_seed")
            for name, label in (
                ("mean_circularity", "mean initial circularity"),
                ("max_circularity", "largest initial circularity"),
            )
        ),
    ),
    run_columns={"test_accuracy": "test accuracy", "test_loss": "test loss"},
    panels=(
        "embedding",
        "sums",
        "ordered_answers",
        "signals",
        "losses",
        "ode",
    ),
    coloured_signals="survivors",
)
