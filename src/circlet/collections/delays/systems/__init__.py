"""Parameters, metrics and outcomes that the systems of this collection share."""

from dataclasses import replace

from circlet.systems import parameters
from circlet.systems.spec import Metric, Outcome, integer

P = integer("Modulus, prime or not.", 59, label="p", minimum=3, maximum=512)
TRAIN_FRACTION = replace(parameters.TRAIN_FRACTION, default=0.4)
LEARNING_RATE = replace(parameters.LEARNING_RATE, default=0.001)
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
