"""A network that reads two letters and says which comes next.

It trains on batches, and has neither a modulus nor a parameter d.
"""

from circlet.systems.parameters import LEARNING_RATE
from circlet.systems.spec import Metric, SystemSpec, integer

SYSTEM = SystemSpec(
    parameters={
        "letters": integer("Letters of the alphabet.", 6, label="a", minimum=1),
        "size": integer("Numbers per letter.", 4, label="e", minimum=1),
        "batch_size": integer("Examples of a step.", 16, minimum=1),
        "learning_rate": LEARNING_RATE,
    },
    embedding="table.weight",
    metrics={
        "train_loss": Metric("mean cross-entropy on the train set", "bit"),
        "test_loss": Metric("mean cross-entropy on the test set", "bit"),
        "test_accuracy": Metric("share of the test set that is right", "0..1"),
        "weight_norm": Metric("norm of all letters"),
        "margin": Metric("mean score of the right letter, beside that of the first", "logit"),
    },
)
