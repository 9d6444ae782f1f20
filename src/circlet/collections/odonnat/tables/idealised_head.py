"""Table ``idealised_head``: arrays of the hand-made clustering head, layer by layer (figure 1)."""

from circlet.collections.odonnat import layer_projections
from circlet.storage.schema import ARRAY, column
from circlet.study.plan import Study

ROLES = ("heads",)
COLUMNS = [column("name", "string", "name of the array, as in layer_projections.py"), *ARRAY]


def table(study: Study) -> list[dict]:
    """A row per array that its panels draw."""
    drawn = layer_projections.view(layer_projections.idealised(), layer_projections.IDEAL)
    return layer_projections.rows(drawn)
