"""Ding et al., figure 10. Mean number of circles that survive against weight decay, by both rules;
dotted, the number of all frequencies. The rule of twice the mean signal counts none if all
frequencies survive with similar signals. The rule of a signal above 10 is meant for runs of 30 000
steps: on shorter runs it also counts circles that have not died yet.
"""

from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("decay_circles",)
TABLES = ("outcome_summary",)


def draw(study: Study) -> Figure:
    """Draw both counts; the axis of weight decay is logarithmic from 0.001 on."""
    summary = parquet.read_table(study, "outcome_summary", "decay_circles")
    n_frequencies = (study.points[0].parameters["p"] - 1) // 2
    possible = summary.assign(high=summary["high"].clip(upper=n_frequencies))
    figure, (axes,) = panels.row(1, 5.2, 3.3)
    for outcome, colour, label in (
        ("n_circles_absolute", style.GREY, "above 10"),
        ("n_circles", style.BLUE, "above twice the mean"),
    ):
        panels.outcome(axes, possible, "weight_decay", outcome, colour, label)
    axes.axhline(n_frequencies, color=style.GREY, lw=0.8, ls=":")
    axes.set_xscale("symlog", linthresh=0.001)
    axes.set(xlabel="weight decay", ylabel="number of circles")
    axes.set(xlim=(-2e-4, None), ylim=(-1, None))
    n_runs = summary.loc[summary["outcome"] == "n_circles", "n_runs"]
    ends = " to ".join(map(str, sorted({n_runs.min(), n_runs.max()})))
    axes.set_title(f"{ends} runs per value")
    axes.legend(title="counted if its signal is")
    return figure
