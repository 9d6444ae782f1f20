"""A network with a quadratic activation that adds modulo p."""

from circlet.systems.parameters import CROSS_ENTROPY, LEARNING_RATE
from circlet.systems.spec import SystemSpec, integer

SYSTEM = SystemSpec(
    parameters={
        "p": integer("Modulus.", 7, label="p", minimum=3),
        "width": integer("Numbers per token.", 8, label="w", minimum=1),
        "learning_rate": LEARNING_RATE,
    },
    embedding="embed.weight",
    metrics=CROSS_ENTROPY,
)
