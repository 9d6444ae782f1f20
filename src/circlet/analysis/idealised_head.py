"""Table ``idealised_head``: the circuit made by hand, layer by layer (figure 1)."""

import pandas as pd

from circlet.analysis import views
from circlet.plan import Study

ROLES = ("heads",)
TABLES = ()


def table(study: Study) -> pd.DataFrame:
    """A row per array that its panels draw."""
    drawn, _ = views.view(views.idealised(), views.IDEAL)
    return pd.DataFrame(views.rows(drawn))
