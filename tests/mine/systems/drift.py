"""Particles that drift to the origin."""

from circlet.systems.parameters import dimension, signals
from circlet.systems.spec import Log, Outcome, SystemSpec, integer, number

SYSTEM = SystemSpec(
    version=1,
    embedding="embedding",
    parameters={
        "p": integer("Number of particles.", 5, label="p", minimum=3),
        "d": dimension(2),
        "rate": number("Share of the way that a step goes.", 0.5, label="r", minimum=0, maximum=1),
    },
    outcomes=(Outcome("size", "size at the end", "mean", "distances", "distance"),),
    logs={"signals": signals(every=1), "embeddings": Log({"every": 1})},
    flops_per_step=lambda p, d, **_: p * d,
    flops_per_second=1e9,
    weights=lambda p, d, **_: p * d,
    activations=lambda p, d, **_: p * d,
)
