"""stub"""

import pandas as pd

OPTIONAL_ROLES = ("initial_signals",)
TABLES = ("survival",)


def table(study):
    """Stub."""
    return pd.DataFrame(
        columns=["claim", "effect", "effect_low", "effect_high", "effect_n", "n_planned"]
    )
