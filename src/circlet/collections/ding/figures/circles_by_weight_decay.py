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

_SMALL = 0.01


def draw(study: Study) -> Figure:
    """Three panels: all weight decays, those below 0.01 and those from 0.01 on."""
    summary = parquet.read_table(study, "outcome_summary", "decay_circles")
    n_frequencies = (study.experiment(study.reproduce["decay_circles"])[0].parameters["p"] - 1) // 2
    parts = {
        "all": summary,
        f"below {_SMALL}": summary[summary["weight_decay"] < _SMALL],
        f"from {_SMALL} on": summary[summary["weight_decay"] >= _SMALL],
    }
    figure, grid = panels.row(3, 9.2, 3.1)
    for axes, (name, part) in zip(grid, parts.items(), strict=True):
        if part.empty:
            panels.missing(axes, f"no weight decay {name}")
            continue
        for outcome, colour, label in (
            ("n_circles_absolute", style.GREY, "above 10"),
            ("n_circles", style.BLUE, "above twice the mean"),
        ):
            clipped = part.assign(high=part["high"].clip(upper=n_frequencies))  # there are no more
            panels.outcome(axes, clipped, "weight_decay", outcome, colour, label)
        axes.axhline(n_frequencies, color=style.GREY, lw=0.8, ls=":")
        axes.locator_params(axis="x", nbins=5)
        axes.set(xlabel="weight decay", ylabel="number of circles", ylim=(-1, None))
        n_runs = part.loc[part["outcome"] == "n_circles", "n_runs"]
        ends = " to ".join(map(str, sorted({n_runs.min(), n_runs.max()})))
        axes.set_title(f"{name}, {ends} runs per value")
    grid[0].legend(title="counted if its signal is")
    return figure
