"""Parameters and logs that several systems have."""

from circlet.systems.spec import Log, Metric, Outcome, Parameter, Rule, choice, integer, number


def dimension(default: int) -> Parameter:
    """Return the parameter d, the embedding dimension."""
    return integer("Embedding dimension.", default, label="d", minimum=1)


def weight_decay(default: float, text: str = "Weight decay of every parameter.") -> Parameter:
    """Return the parameter for the weight decay of the optimiser."""
    return number(text, default, label="wd", minimum=0)


DECOUPLED = "Decoupled weight decay of every parameter (AdamW)."
TRAIN_FRACTION = number(
    "Share of the pairs in the train set (rounded down).",
    0.8,
    exclusiveMinimum=0,
    exclusiveMaximum=1,
)
# At least one train pair, as their number is rounded down; then at least one test pair is left.
HAS_TRAIN_PAIRS = Rule(
    "train_fraction * (p * p) >= 1",
    lambda p, train_fraction, **_: train_fraction * (p * p) >= 1,
)
LEARNING_RATE = number("Learning rate of the optimiser.", 0.01, exclusiveMinimum=0)
EMBEDDING_STD = number(
    "Standard deviation of the initial embedding (normal).", 1.0, exclusiveMinimum=0
)


OPTIMIZER = choice(
    "adamw: Adam with decoupled weight decay; adam: Adam with L2 weight decay (added to the "
    "gradient); sgd: gradient descent with momentum and L2 weight decay.",
    "adamw",
    "adam",
    "sgd",
)
MOMENTUM = number(
    "Momentum of sgd; the other optimisers have none.", 0.0, minimum=0, exclusiveMaximum=1
)
RESIDUAL = choice(
    "Formula for the gradient of the cross-entropy with respect to the logit of the right class. "
    "exact: minus the sum of the other probabilities; cancelling: softmax - 1, as in PyTorch; "
    "rounding destroys it if the probability is near 1.",
    "exact",
    "cancelling",
)

CROSS_ENTROPY = {
    "train_loss": Metric("mean cross-entropy on the train set", "nat"),
    "test_loss": Metric("mean cross-entropy on the test set", "nat"),
    "train_accuracy": Metric("share of the train set that is right", "0..1"),
    "test_accuracy": Metric("share of the test set that is right", "0..1"),
}

TEST_ACCURACY = Outcome("test_accuracy", "test accuracy", "mean", unit="0..1", threshold=0.99)

# Steps early in training are close together, as networks memorise within the first fifty.
CURVES = Log({"every": 50, "per_decade": 20})


def signals(**schedule: int) -> Log:
    """Return a log of signals by a schedule, and at the first steps, whose changes are measured."""
    return Log(schedule, always=range(11))
