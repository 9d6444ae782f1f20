"""Choice of the runs and steps that the explorer shows, so that one page can hold them.

Three budgets (runs listed, bytes of trainings, bytes of final states) are spent run by run. Named
runs come first: those that figures show and the best of each point. The next run is always of the
point that has cost least so far; among equal ones, systems take turns. Within a point, the first
seed of each outcome comes first, then the second of each, and so on.
"""

import numpy as np
import pandas as pd

from circlet.config.schedules import evenly
from circlet.study import cost, measured
from circlet.study.points import Point

LISTED = 6000  # runs
ENDS, TRAININGS = 3_500_000, 9_000_000  # bytes, of values as the page has them
VALUE = 2  # bytes of a value in the page
SCALE = 2  # values that go with each array and step: the scale of its integers
FRAMES = 101
RUN = 400_000  # most bytes of one log of a run; large networks show fewer steps
MIN_FRAMES = 3  # steps of a large network
ANSWERS = "ordered_answers"  # the panel of networks too large for the page to compute their answers


def arrays(point: Point) -> dict[str, int]:
    """Return the logs that a run's states are made of, with their number of values per step."""
    tokens, d = cost.embedding(point)
    frequencies = max(0, (tokens - 1) // 2)
    sizes = {
        "embeddings": tokens * d + SCALE,
        "signals": frequencies + SCALE,
        "curves": 2 * len(point.system.metrics),
    }
    if not frequencies:
        del sizes["signals"]
    if point.system.explorer_weights:
        embedded = tokens * d if "embeddings" in point.logs else 0
        sizes["parameters"] = int(cost.weights(point)) - embedded + 9 * SCALE
    elif ANSWERS in point.system.panels:
        sizes["parameters"] = 2 * (tokens**2 + SCALE)
    return {k: size for k, size in sizes.items() if k in point.logs and point.steps_logged(k)}


def frames(point: Point, kind: str) -> list[int]:
    """Return the steps of a log to show for a run whose training is shown."""
    max_frames = max(MIN_FRAMES, min(FRAMES, RUN // (VALUE * arrays(point)[kind])))
    return evenly(point.steps_logged(kind), max_frames)


def choose(runs: pd.DataFrame, points: list[Point]) -> np.ndarray:
    """Return how much is shown of each run: ``training``, ``end``, ``outcome`` or ``nothing``.

    The result is in the order of ``runs``, whose columns are ``point`` (index in ``points``),
    ``seed``, ``outcome`` and ``named`` (whether a run comes before all others).
    """
    measured.measure(points)  # all points in one process, unless a plan has done so
    systems = pd.Series([point.system.name for point in points])
    place = systems.groupby(systems).cumcount()  # of a point among those of its system
    ordered = runs.assign(other=~runs["named"], place=runs["point"].map(place)).sort_values("seed")
    ordered["turn"] = ordered.groupby(["point", "outcome"]).cumcount()
    ordered = ordered.sort_values(["other", "turn", "seed"])
    listed = _affordable(ordered, [1] * len(points), LISTED)
    trained = _affordable(listed, [_training(point) for point in points], TRAININGS)
    others = listed.drop(trained.index)
    ended = _affordable(others, [_end(point) for point in points], ENDS)
    shown = pd.Series("nothing", runs.index, dtype=object)
    for how, which in (("outcome", listed), ("end", ended), ("training", trained)):
        shown[which.index] = how
    return shown.to_numpy()


def _affordable(runs: pd.DataFrame, costs: list[int], budget: int) -> pd.DataFrame:
    """Return the runs that fit into a budget, in order; ``costs`` are those of a run by point."""
    cost = runs["point"].map(dict(enumerate(costs)))
    spent = cost * runs.groupby("point").cumcount()  # on the point before this run
    runs = runs.assign(cost=cost, spent=spent)[cost.between(1, budget)]  # zero: nothing to show
    runs = runs.sort_values(["other", "spent", "place", "point"])
    fits = []
    for each in runs["cost"]:  # one that does not fit leaves space for cheaper ones
        fits.append(each <= budget)
        budget -= each * fits[-1]
    return runs[fits]


def _end(point: Point) -> int:
    """Return the bytes of a run's final state."""
    return VALUE * sum(size for kind, size in arrays(point).items() if kind != "curves")


def _training(point: Point) -> int:
    """Return the bytes of a run's training."""
    return VALUE * sum(size * len(frames(point, kind)) for kind, size in arrays(point).items())
