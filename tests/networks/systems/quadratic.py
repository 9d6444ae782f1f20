"""A network for addition modulo p whose activation is the square."""

from circlet.systems.parameters import (
    CROSS_ENTROPY,
    LEARNING_RATE,
    MOMENTUM,
    OPTIMIZER,
    weight_decay,
)
from circlet.systems.spec import Log, SystemSpec, integer

SYSTEM = SystemSpec(
    parameters={
        "p": integer("Modulus.", 7, label="p", minimum=3),
        "width": integer("Neurons.", 8, label="w", minimum=1),
        "learning_rate": LEARNING_RATE,
        "weight_decay": weight_decay(0.1),
        "optimizer": OPTIMIZER,
        "momentum": MOMENTUM,
    },
    embedding="embed.weight",
    metrics=CROSS_ENTROPY,
    logs={
        "curves": Log({"every": 10}),
        "signals": Log({"every": 10}),
        "embeddings": Log({}),
        "parameters": Log({}),
        "gradient_norms": Log(None),
        "gradients": Log(None),
    },
)
