"""The idealised clustering head and its classifier, made by hand (Odonnat et al., figure 1)."""

from matplotlib.figure import Figure

from circlet import io
from circlet.figures import network_panels
from circlet.figures.network_panels import Moment
from circlet.plan import Study

ROLES = ("heads",)
TABLES = ("idealised_head",)

SHOWN = {
    "1. tokens and positions, summed": network_panels.pairs,
    "2. the query looks at the prefix": network_panels.normed,
    "3. attention": network_panels.attention,
    "4. clusters by the sum": network_panels.embeddings,
    "5. the MLP tells them apart": network_panels.decisions,
}


def draw(study: Study) -> Figure:
    """A panel per step of the circuit."""
    view = network_panels.arrays(io.read_table(study, "idealised_head"))
    moment = Moment(view, None, 0)
    figure = Figure(figsize=(11.5, 2.6))
    for axes, (title, panel) in zip(figure.subplots(1, len(SHOWN)), SHOWN.items(), strict=True):
        panel(axes, moment)
        axes.set_title(title, fontsize=8)
    return figure
