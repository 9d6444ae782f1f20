"""Simplified one-layer transformer with constant attention (Mușat, section 3)."""

from circlet.systems import parameters
from circlet.systems.spec import Log, Outcome, Rule, SystemSpec, choice, integer

CIRCLE, GRID = {"is_circle": True}, {"is_circle": False}

SYSTEM = SystemSpec(
    version=4,
    embedding="embedding",
    metrics=parameters.CROSS_ENTROPY,
    logs={
        "curves": parameters.CURVES,
        "signals": parameters.signals(every=100),
        "embeddings": Log({}),
        "parameters": Log({}),
    },
    # At least one train pair, as their number is rounded down; then at least one test pair is left.
    requires=(
        Rule(
            "train_fraction * (p * (p + 1) // 2) >= 1",
            lambda p, train_fraction, **_: train_fraction * (p * (p + 1) // 2) >= 1,
        ),
    ),
    # Two products per weight forward, twice that backward, for each train pair.
    flops_per_step=lambda p, d, hidden, train_fraction, **_: (
        3 * train_fraction * p * (p + 1) * hidden * (p + d)
    ),
    flops_per_second=35e9,
    # Values that a run keeps, and values that it holds at the peak of a step: activations of all
    # pairs, and their incidence.
    weights=lambda p, d, hidden, **_: p * d + hidden * (d + 1) + p * (hidden + 1),
    activations=lambda p, d, hidden, **_: p * (p + 1) / 2 * (6 * p + 4 * hidden + 2 * d),
    # As many runs as fit into the second-level cache.
    cpu_batch=lambda p, hidden, **_: max(1, 2**19 // (p * (p + 1) // 2 * (p + hidden))),
    parameters={
        "p": integer("Modulus; N in the paper.", 17, label="p", minimum=3, maximum=256),
        "d": integer("Embedding dimension; D in the paper.", 2, label="d", minimum=1),
        "hidden": integer("Width of the hidden layer; H in the paper.", 32, minimum=1),
        "train_fraction": parameters.TRAIN_FRACTION,
        "learning_rate": parameters.LEARNING_RATE,
        "weight_decay": parameters.weight_decay(0.0, parameters.DECOUPLED),
        "initialisation": choice(
            "Initial linear layers. torch: PyTorch's default, weights and biases uniform "
            "between +-1/sqrt(fan_in). All others have zero biases; torch_zero_bias: weights as "
            "torch; glorot: Glorot uniform; lecun: normal with variance 1/fan_in; small_normal: "
            "normal with standard deviation 0.02.",
            "torch",
            "torch_zero_bias",
            "glorot",
            "lecun",
            "small_normal",
        ),
        "embedding_std": parameters.EMBEDDING_STD,
    },
    outcomes=(
        Outcome("is_circle", "ends as a circle", "share", "structures"),
        parameters.TEST_ACCURACY,
        Outcome("imperfections", "imperfections of grids", "count", "structures", where=GRID),
        *(
            Outcome(name, label, "mean", "structures", "test_accuracy", where, unit="0..1")
            for name, label, where in (
                ("circle_accuracy", "test accuracy of circles", CIRCLE),
                ("grid_accuracy", "test accuracy of grids", GRID),
            )
        ),
    ),
    run_columns={
        "test_accuracy": "test accuracy",
        "norm_ratio": "norm ratio",
        "imperfections": "imper\u00adfections",
    },
    panels=("embedding", "sums", "answers", "signals", "losses"),
    explorer_weights=True,
    opens_with="circle",
)
