"""Particle model of the embeddings: clustering and alignment forces (Mușat, section 6)."""

from circlet.systems.parameters import signals
from circlet.systems.spec import Log, Outcome, SystemSpec, choice, integer, number

SYSTEM = SystemSpec(
    version=3,
    embedding="embedding",
    logs={"signals": signals(every=100), "embeddings": Log({})},
    # About 20 operations and d-vectors for each couple of pairs.
    flops_per_step=lambda p, d, **_: 5 * (4 + d) * (p * (p + 1) // 2) ** 2,
    flops_per_second=20e9,
    # Values that a run keeps, and values that it holds at the peak of a step: the distances of all
    # couples of pairs.
    weights=lambda p, d, **_: p * d,
    # Measured: the process keeps a part of the memory that a step frees. At p = 64 it took 660 to
    # 1131 MB, varying from one call to the next.
    activations=lambda p, d, **_: (d + 36) * (p * (p + 1) / 2) ** 2,
    # As many runs as fit into the second-level cache, with all couples of pairs.
    cpu_batch=lambda p, **_: max(1, 2**18 // (p * (p + 1) // 2) ** 2),
    parameters={
        "p": integer(
            "Modulus and number of particles; N in the paper.",
            17,
            label="p",
            minimum=3,
            maximum=64,
        ),
        "d": integer("Dimension of the space; D in the paper.", 2, label="d", minimum=1),
        "f_a": number("Strength of the alignment force.", 1.0, label="fa", minimum=0),
        "g_a": number("Strength of attraction between sums with the same answer.", 1.0, minimum=0),
        "g_r": number("Strength of repulsion between sums with different answers.", 1.0, minimum=0),
        "step_size": number("Distance per step for a unit force.", 0.002, exclusiveMinimum=0),
        "std": number(
            "Standard deviation of the positions, restored after every step.",
            0.5,
            exclusiveMinimum=0,
        ),
        "scaling": choice(
            "How `std` is restored. per_coordinate: for each coordinate; global: for all "
            "coordinates together.",
            "per_coordinate",
            "global",
        ),
    },
    outcomes=(
        Outcome("is_circle", "ends as a circle", "share", "structures"),
        Outcome(
            "imperfections",
            "imperfections of grids",
            "count",
            "structures",
            where={"is_circle": False},
        ),
    ),
    run_columns={"norm_ratio": "norm ratio", "imperfections": "imper\u00adfections"},
    panels=("embedding", "sums", "signals"),
    opens_with="circle",
)
