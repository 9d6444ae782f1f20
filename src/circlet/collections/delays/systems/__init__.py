"""Parameters, metrics and outcomes that the systems of this collection share."""

from circlet.systems import parameters
from circlet.systems.spec import Metric, Outcome, Rule, integer, number

P = integer("Modulus, prime or not.", 59, label="p", minimum=3, maximum=512)
TRAIN_FRACTION = number(
    "Share of the pairs in the train set (rounded down).",
    0.4,
    exclusiveMinimum=0,
    exclusiveMaximum=1,
)
LEARNING_RATE = number("Learning rate of the optimiser.", 0.001, exclusiveMinimum=0)
METRICS = parameters.CROSS_ENTROPY | {
    "train_loss": Metric("mean cross-entropy (nat) or squared error on the train set"),
    "test_loss": Metric("mean cross-entropy (nat) or squared error on the test set"),
    "logit_scale": Metric("root mean square of the logits that the loss sees, centred, train set"),
    "norm": Metric("norm of all weights and biases"),
}
OUTCOMES = (
    parameters.TEST_ACCURACY,
    Outcome("norm", "norm of all weights", "mean"),
    Outcome("logit_scale", "scale of the logits", "mean"),
)
REQUIRES = (
    Rule(
        "train_fraction * (p * p) >= 1",
        lambda p, train_fraction, **_: train_fraction * (p * p) >= 1,
    ),
)
