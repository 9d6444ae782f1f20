"""Learning p = 3 or p = 4 after p = 2, compared with training from scratch; Odonnat et al.,
transfer and curriculum. Left: p = 3 from scratch, and from networks that had or had not solved p =
2. Middle: p = 4 in 32 dimensions with full batches, from scratch and after p = 2. Right: the train
loss on the straight line between the final weights of these two, for the same seed.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from circlet.plotting import panels, style
from circlet.storage import parquet
from circlet.study.plan import Study

ROLES = ("transfer", "scratch", "curriculum", "curriculum_scratch")
TABLES = ("heads", "transfers", "interpolations", "losses")


def _accuracies(axes: Axes, groups: dict[str, pd.DataFrame], title: str) -> None:
    stream = np.random.default_rng(0)
    for y, runs in enumerate(reversed(groups.values())):
        values, solved = runs["test_accuracy"], int(runs["success"].sum())
        jitter = stream.uniform(-0.25, 0.25, len(values))
        axes.scatter(values, y + jitter, s=6, color=style.BLUE, alpha=0.5, linewidths=0)
        axes.text(1.04, y, f"{solved} of {len(values)}", fontsize=7, va="center")
    axes.set_yticks(range(len(groups)), list(reversed(groups)), fontsize=7)
    axes.set_xticks(np.linspace(0, 1, 6))
    axes.set(xlim=(0, 1.25), ylim=(-0.6, len(groups) - 0.4), xlabel="last test accuracy")
    axes.set_title(title)


def _curves(axes: Axes, study: Study) -> None:
    """Test accuracy over steps with and without the curriculum."""
    parent = study.experiment(study.reproduce["curriculum"])[0].parent
    assert parent
    names = {"curriculum_scratch": ("from scratch", style.ORANGE),
             "curriculum": (f"after p = {parent.parameters['p']}", style.BLUE)}  # fmt: skip
    for role, (label, colour) in names.items():
        losses = parquet.read_table(study, "losses", role)
        for i, (_, run) in enumerate(losses.groupby("run_id")):
            axes.plot(run["step"], run["test_accuracy"], color=colour, lw=0.8, alpha=0.7,
                      label=label if i == 0 else None)  # fmt: skip
    axes.set(xlabel="step", ylabel="test accuracy", ylim=(0, 1.03))
    axes.legend()


def _task(study: Study, role: str) -> str:
    parameters = study.experiment(study.reproduce[role])[0].parameters
    return f"p = {parameters['p']}, d = {parameters['d']}"


def draw(study: Study) -> Figure:
    """Draw a transfer (left), the curriculum (middle), and the line between its final weights."""
    figure, (left, middle, right) = panels.row(3, 10.5, 3, width_ratios=[1.2, 1, 1])
    runs = parquet.read_table(study, "transfers", "transfer")
    from_solved = runs["parent_success"].astype(bool)
    groups = {
        "from scratch": parquet.read_table(study, "heads", "scratch"),
        "from a solved run": runs[from_solved],
        "from an unsolved run": runs[~from_solved],
    }
    _accuracies(left, groups, f"{_task(study, 'scratch')}: solved of all")
    _curves(middle, study)
    middle.set_title(_task(study, "curriculum"))
    for _, line in parquet.read_table(study, "interpolations").groupby("run_id"):
        right.plot(line["t"], line["train_loss"], color=style.BLUE, lw=0.8)
    right.set(xlabel="from scratch (0) to curriculum (1)", ylabel="train loss (nat)")
    right.set_title("on the straight line between their ends")
    return figure
