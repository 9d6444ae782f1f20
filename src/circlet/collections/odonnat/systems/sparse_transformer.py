"""One-layer transformer on sparse modular addition (Odonnat, Bouaziz, Cabannes 2024)."""

from circlet.systems.parameters import CROSS_ENTROPY, TEST_ACCURACY, dimension
from circlet.systems.spec import Log, Outcome, Rule, SystemSpec, boolean, integer, number

SYSTEM = SystemSpec(
    version=2,
    embedding="embedding",
    metrics=CROSS_ENTROPY,
    logs={"curves": Log({"every_epochs": 1}), "parameters": Log({}), "gradient_norms": Log(None)},
    requires=(
        Rule("k <= length", lambda length, k, **_: k <= length),
        Rule("vocabulary >= p", lambda p, vocabulary, **_: vocabulary >= p),
        Rule("batch_size <= n_train", lambda n_train, batch_size, **_: batch_size <= n_train),
    ),
    steps_per_epoch=lambda n_train, batch_size, **_: -(-n_train // batch_size),
    # Scores, values and the layers of every sequence of a batch, forward, and twice that backward.
    # A value of softmax (gelu) costs as much as 20 (40) operations of a matrix product.
    flops_per_step=lambda p, d, length, vocabulary, hidden, batch_size, **_: (
        6 * batch_size * (p * length * (d + 22) + hidden * (2 * d + 40) + vocabulary * d)
    ),
    flops_per_second=40e9,
    weights=lambda d, length, vocabulary, hidden, bias, **_: (
        d * (vocabulary + length + 1 + d) + 2 * d * hidden + bias * (hidden + d)
    ),
    # A step on the whole train set, and what is kept of both sets. A step holds four arrays of the
    # hidden layer; gaps that such large arrays leave in memory have taken as much as five more.
    activations=lambda p, d, length, hidden, n_train, n_test, **_: (
        n_train * (6 * hidden + 4 * p * length + 6 * d) + (n_train + n_test) * p * length
    ),
    # As many runs as fit into the second-level cache.
    cpu_batch=lambda p, length, hidden, batch_size, **_: max(
        1, 2**18 // (batch_size * (hidden + p * length))
    ),
    # These decide the shapes of the arrays: runs can start from others with the same values.
    shapes=("vocabulary", "length", "d", "hidden", "bias"),
    parameters={
        "p": integer(
            "Modulus; sequences contain the tokens 0 to p - 1.",
            2,
            label="p",
            minimum=2,
            maximum=256,
        ),
        "d": dimension(2),
        "length": integer("Tokens per sequence; L in the paper.", 12, minimum=1),
        "k": integer(
            "Number of leading tokens in the sum; the rest are distractors.", 5, minimum=1
        ),
        "vocabulary": integer(
            "Number of tokens with an embedding. Values above p reserve tokens for a later run "
            "with a larger modulus.",
            3,
            minimum=2,
        ),
        "hidden": integer("Width of the MLP.", 32, minimum=1),
        "bias": boolean("Whether the layers of the MLP have biases.", True),
        "dropout": number(
            "Dropout rate of the MLP's output, in training only.",
            0.0,
            minimum=0,
            exclusiveMaximum=1,
        ),
        "n_train": integer("Sequences in the train set, drawn with replacement.", 2048, minimum=1),
        "n_test": integer(
            "Sequences in the test set; with p = 2 some are also in the train set.",
            2048,
            minimum=1,
        ),
        "batch_size": integer("Sequences per step; n_train for full batches.", 32, minimum=1),
        "learning_rate": number("Learning rate of Adam.", 0.003, exclusiveMinimum=0),
        "mlp_divisor": number("Divisor of the learning rate of the MLP.", 1.0, exclusiveMinimum=0),
        "weight_decay": number("Decoupled weight decay of every parameter.", 0.0, minimum=0),
    },
    outcomes=(
        Outcome("success", "success", "share", "heads"),
        Outcome("head_present", "clustering head", "share", "heads"),
        TEST_ACCURACY,
        Outcome("structure_step", "step of the head", "time", "heads"),
        Outcome("stuck", "stuck at chance", "share", "heads"),
        Outcome(
            "head_of_success",
            "clustering head, of the successes",
            "share",
            "heads",
            "head_present",
            {"success": True},
        ),
        Outcome("clustered", "cluster per histogram", "share", "heads"),
    ),
    run_columns={
        "test_accuracy": "test accuracy",
        "structure_epoch": "head first at epoch",
        "fit_epoch": "fits at epoch",
    },
    panels=("embedding", "sequences", "attention", "losses"),
    explorer_weights=True,
)
