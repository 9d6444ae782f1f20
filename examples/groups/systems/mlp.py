"""A network with one hidden layer on the multiplication of a finite group.

As in Chughtai et al. (2023) and Stander et al. (2024), the left and the right factor have separate
embeddings. circlet's ``embedding`` is the left one.
"""

from circlet.collections.groups import finite_groups
from circlet.systems.parameters import CROSS_ENTROPY, CURVES, LEARNING_RATE, dimension, weight_decay
from circlet.systems.spec import Log, Outcome, Parameter, Rule, SystemSpec, integer, number

_GROUP = "Cn, Dn, Qn, Sn, An, or their product: C2xA4 (finite_groups.py)."

SYSTEM = SystemSpec(
    parameters={
        "group": Parameter("string", _GROUP, "S4", "group-"),
        "d": dimension(32),
        "hidden": integer("Hidden neurons.", 128, minimum=1),
        "train_fraction": number(
            "Share of the pairs in the train set (rounded down).",
            0.8,
            exclusiveMinimum=0,
            exclusiveMaximum=1,
        ),
        "learning_rate": LEARNING_RATE,
        "weight_decay": weight_decay(2.0),
    },
    embedding="left.weight",
    metrics=CROSS_ENTROPY,
    outcomes=(
        Outcome("generalised", "generalises", "share", "outcomes"),
        Outcome("n_survivors", "surviving representations", "count", "outcomes"),
        Outcome("parts_agree", "the same survive in all parts", "share", "outcomes"),
        Outcome("test_accuracy", "test accuracy", "mean", unit="0..1", threshold=0.99),
    ),
    # Not circlet's signals: their frequencies are those of a cyclic group.
    logs={
        "curves": CURVES,
        "embeddings": Log({"every": 50}),
        "parameters": Log({"at": [0]}),
    },
    requires=(
        Rule(
            "a group: Cn, Dn, Qn (n = 8, 12, ...), Sn, An, or factors joined by x, as in C2xA4",
            lambda group, **_: finite_groups.is_name(group),
        ),
        Rule(
            f"a group of 2 to {finite_groups.LARGEST} elements",
            lambda group, **_: 2 <= finite_groups.order(group) <= finite_groups.LARGEST,
        ),
        Rule(
            "1 or more pairs to train on, and to test on",
            lambda group, train_fraction, **_: (
                0
                < int(train_fraction * finite_groups.order(group) ** 2)
                < finite_groups.order(group) ** 2
            ),
        ),
    ),
)
