"""Time to grok of single runs against the scale of their logits when they grok, with clamped norms
and temperatures: a panel per loss, colours for norms, markers for temperatures. If the scale alone
decided the time, the dots of all norms would lie on one curve. Only runs that grok are shown.
"""

from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("clamped_norms",)
TABLES = ("delay_runs",)

_NAMES = {"exact": "exact gradient", "cancelling": "PyTorch's gradient"}
_COLOURS = (style.BLUE, style.GREEN, style.YELLOW, style.ORANGE, style.PINK, style.GREY)
_MARKERS = "os^Dv"


def draw(study: Study) -> Figure:
    """Draw a panel per loss and kind of gradient, of the smallest modulus."""
    runs = parquet.read_table(study, "delay_runs", "clamped_norms")
    runs = runs.dropna(subset=["generalised_step", "logit_scale_grokked"])
    panels.require(len(runs), "no run has grokked")
    runs = runs[runs["p"] == runs["p"].min()]
    kinds = list(runs.groupby(["loss", "residual"]))
    colours = dict(zip(sorted(runs["clamp_factor"].unique()), _COLOURS, strict=False))
    markers = dict(zip(sorted(runs["temperature"].unique()), _MARKERS, strict=False))
    figure, axes = panels.row(len(kinds), 3.2 * len(kinds), 3.4)
    for panel, ((loss, residual), rows) in zip(axes, kinds, strict=True):
        for (factor, temperature), cell in rows.groupby(["clamp_factor", "temperature"]):
            panel.plot(cell["logit_scale_grokked"], cell["generalised_step"],
                       markers.get(temperature, "x"), color=colours.get(factor, "0.5"),
                       ms=4, mfc="none")  # fmt: skip
        name = "squared error" if loss == "squared_error" else f"cross-entropy, {_NAMES[residual]}"
        panel.set(title=name, xlabel="scale of the logits", yscale="log")
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.yaxis.set_minor_formatter(StrMethodFormatter("{x:g}"))
    for factor, colour in colours.items():
        axes[0].plot([], [], "-", color=colour, label=f"norm × {factor:g}")
    for temperature, marker in markers.items():
        axes[0].plot([], [], marker, color="0.4", mfc="none", label=f"temperature {temperature:g}")
    axes[0].set(ylabel="step of grokking")
    axes[0].legend(fontsize=6)
    return figure
