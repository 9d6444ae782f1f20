"""Choice of the runs and steps that the explorer shows, so that one page can hold them.

Three budgets (runs listed, bytes of final states, bytes of trainings) are spent run by run: first
on one run of every point, if there is room; then always on the system that has cost least so far,
and on its point that has cost least. Named runs come first: those that figures show and the best of
each point. They get up to three quarters of the budget for trainings. Then the runs of a point
follow in turn: the first seed of each outcome, then the second of each, and so on.
"""

import heapq

import numpy as np
import pandas as pd

from circlet.config.schedules import evenly
from circlet.study import cost, measured
from circlet.study.points import Point

LISTED = 6000  # runs
ENDS, TRAININGS = 3_500_000, 9_000_000  # bytes, of values as the page has them
NAMED = 0.75  # largest share of TRAININGS for named runs
VALUE = 2  # bytes of a value in the page
SCALE = 2  # values that go with each array and step: the scale of its integers
FRAMES = 101
RUN = 400_000  # most bytes of one log of a run; large networks show fewer steps
FEWEST = 3  # steps of a large network
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
    most = max(FEWEST, min(FRAMES, RUN // (VALUE * arrays(point)[kind])))
    return evenly(point.steps_logged(kind), most)


def affordable(
    points: list[Point],
    costs: list[int],
    counts: list[int],
    budget: int,
    had: list[int] | None = None,
) -> list[int]:
    """Return how many runs of each point fit into a budget.

    ``costs`` and ``counts`` give the cost of a run and the number of runs of each point; ``budget``
    is what all may cost together; ``had``, how many runs are paid for already.
    """
    runs = had.copy() if had else [0] * len(points)
    budget -= sum(n * cost for n, cost in zip(runs, costs, strict=True))
    spent = dict.fromkeys((point.system.name for point in points), 0)
    waiting: dict[str, list[tuple[int, int]]] = {system: [] for system in spent}
    for i, point in enumerate(points):
        spent[point.system.name] += runs[i] * costs[i]
        waiting[point.system.name].append((runs[i] * costs[i], i))  # what it has cost so far
    for heap in waiting.values():
        heapq.heapify(heap)
    new = zip(costs, counts, runs, strict=True)
    firsts = sum(cost for cost, count, n in new if count and not n)
    every_point_first = firsts <= budget
    while system := _next(waiting, spent, every_point_first):
        used, i = heapq.heappop(waiting[system])
        if runs[i] == counts[i] or not 0 < costs[i] <= budget:  # zero cost: nothing to show
            continue
        runs[i] += 1
        budget -= costs[i]
        spent[system] += costs[i]
        heapq.heappush(waiting[system], (used + costs[i], i))
    return runs


def _next(
    waiting: dict[str, list[tuple[int, int]]], spent: dict[str, int], every_point_first: bool
) -> str | None:
    """Return the next system: one with a point that has no run yet, else the cheapest so far."""
    remaining = [system for system in waiting if waiting[system]]
    if every_point_first:
        remaining = [system for system in remaining if waiting[system][0][0] == 0] or remaining
    return min(remaining, key=lambda system: spent[system], default=None)


def choose(runs: pd.DataFrame, points: list[Point]) -> np.ndarray:
    """Return how much is shown of each run: ``training``, ``end``, ``outcome`` or ``nothing``.

    The result is in the order of ``runs``, whose columns are ``point`` (index in ``points``),
    ``seed``, ``outcome`` and ``named`` (whether a run comes before others of its point).
    """
    measured.measure(points)  # all points in one process, unless a plan has done so
    turn = runs.sort_values("seed").groupby(["point", "outcome"]).cumcount()
    turn = turn.where(~runs["named"], -1)
    ordered = runs.assign(turn=turn).sort_values(["point", "turn", "seed"])
    place = ordered.groupby("point").cumcount().reindex(runs.index)
    counts = runs["point"].value_counts().reindex(range(len(points)), fill_value=0).tolist()
    listed = affordable(points, [1] * len(points), counts, LISTED)
    named = (
        runs.loc[runs["named"], "point"].value_counts().reindex(range(len(points)), fill_value=0)
    )
    some = np.minimum(named.to_numpy(), listed).tolist()
    costs = [_training(point) for point in points]
    trained = affordable(points, costs, some, int(NAMED * TRAININGS))
    trained = affordable(points, costs, listed, TRAININGS, trained)
    others = [n - m for n, m in zip(listed, trained, strict=True)]
    ended = affordable(points, [_end(point) for point in points], others, ENDS)
    ended = [n + m for n, m in zip(ended, trained, strict=True)]
    shown = np.full(len(runs), "nothing", dtype=object)
    for how, room in (("outcome", listed), ("end", ended), ("training", trained)):
        shown[(place < runs["point"].map(dict(enumerate(room)))).to_numpy()] = how
    return shown


def _end(point: Point) -> int:
    """Return the bytes of a run's final state."""
    return VALUE * sum(size for kind, size in arrays(point).items() if kind != "curves")


def _training(point: Point) -> int:
    """Return the bytes of a run's training."""
    return VALUE * sum(size * len(frames(point, kind)) for kind, size in arrays(point).items())
