"""Time to grok of single runs against the scale of their logits when they grok, with clamped norms
and temperatures: a panel per loss, colours for norms, markers for temperatures. If the scale alone
decided the time, the dots of all norms would lie on one curve. Only runs that grok are shown.
"""

import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("clamped_norms",)
TABLES = ("delay_runs",)

_NAMES = {"exact": "exact gradient", "cancelling": "PyTorch's gradient"}


def draw(study: Study) -> Figure:
    """Draw a panel per loss and kind of gradient, of the smallest modulus."""
    runs = parquet.read_table(study, "delay_runs", "clamped_norms")
    runs = runs.dropna(subset=["generalised_step", "logit_scale_grokked"])
    panels.require(len(runs), "no run has grokked")
    runs = runs[runs["p"] == runs["p"].min()]
    kinds = list(runs.groupby(["loss", "residual"]))
    factors, temperatures = (sorted(runs[n].unique()) for n in ("clamp_factor", "temperature"))
    colours = dict(zip(factors, style.labels(len(factors)), strict=True))
    figure, axes = panels.row(len(kinds), 3.2 * len(kinds), 3.4)
    for panel, ((loss, residual), rows) in zip(axes, kinds, strict=True):
        sns.scatterplot(
            rows, x="logit_scale_grokked", y="generalised_step", hue="clamp_factor",
            palette=colours, style="temperature", style_order=temperatures, ax=panel,
            legend=panel is axes[-1] and "full",
        )  # fmt: skip
        name = "squared error" if loss == "squared_error" else f"cross-entropy, {_NAMES[residual]}"
        panel.set(title=name, xlabel="scale of the logits", ylabel="step of grokking", yscale="log")
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.yaxis.set_minor_formatter(StrMethodFormatter("{x:g}"))
    sns.move_legend(axes[-1], "upper left", bbox_to_anchor=(1, 1))
    return figure
