"""A network without an embedding that learns a function of five numbers."""

from circlet.systems.parameters import LEARNING_RATE
from circlet.systems.spec import SystemSpec, integer

SYSTEM = SystemSpec(
    parameters={
        "width": integer("Hidden neurons.", 8, label="w", minimum=1),
        "learning_rate": LEARNING_RATE,
    },
)
