"""A network that fits a product, in minibatches: no embedding, no classes."""

from circlet.systems.parameters import LEARNING_RATE, MOMENTUM, OPTIMIZER
from circlet.systems.spec import SystemSpec, integer

SYSTEM = SystemSpec(
    parameters={
        "width": integer("Neurons.", 6, label="w", minimum=1),
        "n_train": integer("Examples.", 20, minimum=1),
        "batch_size": integer("Examples of a step.", 8, minimum=1),
        "learning_rate": LEARNING_RATE,
        "optimizer": OPTIMIZER,
        "momentum": MOMENTUM,
    },
    steps_per_epoch=lambda n_train, batch_size, **_: -(-n_train // batch_size),
)
