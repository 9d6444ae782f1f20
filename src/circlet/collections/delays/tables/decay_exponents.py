"""Table ``decay_exponents``: how the time to grok and the delay fall with weight decay and rate.

The exponent b of time ~ (weight decay)^-b, or (learning rate)^-b, at fixed other parameters: a
log-normal regression with censored runs (`circlet.collections.delays.survival`). The delay is the
time from memorising to grokking. The interval is over seeds.
"""

import math

from circlet.analysis import log_frames
from circlet.collections.delays import survival
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate
from circlet.study.plan import Study

OPTIONAL_ROLES = ("mlp_decays", "gelu_decays", "transformer_decays", "mlp_decays_again")
TABLES = ("milestones",)
COLUMNS = [
    EXPERIMENT,
    column("system", "string", "the network"),
    column("by", "string", "weight_decay or learning_rate"),
    column("time", "string", "grok: steps to grok; delay: steps from memorising to grokking"),
    column("p", "int32", "modulus"),
    column("weight_decay", "float64", "its value, if the learning rate varies"),
    column("learning_rate", "float64", "its value, if the weight decay varies"),
    *estimate("exponent", "b of time ~ x^-b; n: seeds"),
    column("constant", "float64", "median time at x = 1", "steps"),
    column("n_values", "int32", "values of the parameter"),
    column("n_grokked", "int32", "runs that have grokked"),
    *COUNTS,
]
_OTHER = {"weight_decay": "learning_rate", "learning_rate": "weight_decay"}


def table(study: Study) -> Rows:
    """Yield a row per role, parameter with three or more values, setting and time."""
    for role in OPTIONAL_ROLES:
        for x, other in _OTHER.items():
            keys = ["experiment", "system", "p", other]
            for row, runs in log_frames.groups(study, "milestones", keys, [role]):
                if runs[x].nunique() < 3:
                    continue
                for time in survival.TIMES:
                    times = survival.usable(survival.ends(runs, time, x))
                    exponent = survival.exponent(times)
                    is_enough = survival.is_enough(times)
                    level = survival.fit("power", times).parameters[0] if is_enough else math.nan
                    yield row | {
                        "by": x,
                        "time": time,
                        x: None,
                        **exponent.columns("exponent"),
                        "constant": math.exp(level),
                        "n_values": runs[x].nunique(),
                        "n_grokked": int(times["by"].notna().sum()),
                    }
