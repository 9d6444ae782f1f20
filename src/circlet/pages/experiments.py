"""The systems and experiments of a study, for its report: parameters, runs, results of points."""

from typing import Any

import pandas as pd

from circlet.formatting import number
from circlet.pages import story
from circlet.study import contributions, cost
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.swept import text
from circlet.systems.spec import SHARE, SystemSpec

OPTIMIZERS = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD"}
MAX_VALUES = 8  # most values of a parameter to list


def _points(summary: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the headings by outcome, and the cells of each point; the number of runs is first."""
    headings, cells = {"": "runs"}, {}
    for row in summary.drop_duplicates("outcome").itertuples():
        unit = f", {row.unit}" if row.unit not in ("", SHARE, "steps") else ""
        headings[row.outcome] = f"{row.label}{unit}"
    for point, rows in summary.groupby("point", sort=False):
        cells[point] = {"": f"{rows['n_runs'].max()} of {rows['n_planned'].max()}"}
        for row in rows.itertuples():
            interval = story.interval(row.low, row.high, story.RANGES.get(row.unit))
            cells[point][row.outcome] = f"{number(row.estimate)} {interval}".rstrip()
    return {"headings": headings, "cells": cells}


def _values(values: list[Any]) -> str:
    words = [*dict.fromkeys(map(text, values))]
    if len(words) <= MAX_VALUES:
        return ", ".join(words)
    return f"{words[0]}, {words[1]} … {words[-1]} ({len(words)} values)"


def setting(points: list[Point]) -> dict[str, Any]:
    """Return an experiment's setting: parameters off their defaults, steps, number of weights."""
    system = points[0].system
    values = {name: [point.parameters[name] for point in points] for name in system.parameters}
    others = {name: used for name, used in values.items() if set(used) != {system.defaults[name]}}
    parts = [f"{name} = {_values(used)}" for name, used in others.items() if name != "optimizer"]
    acts = dict.fromkeys(k for point in points for k in point.keys if k not in system.parameters)
    parts += [f"{k} = {_values([point.keys.get(k, '–') for point in points])}" for k in acts]
    steps = f"{_values([point.steps for point in points])} steps"
    if system.is_trained:
        optimizers = [point.parameters.get("optimizer", "adamw") for point in points]
        steps += f" of {_values([OPTIMIZERS.get(name, name) for name in optimizers])}"
    weights = sorted({int(cost.weights(point)) for point in points})
    ends = dict.fromkeys((weights[0], weights[-1]))
    return {
        "setting": "; ".join([*parts, steps]),
        "weights": " to ".join(map(str, ends)) if system.is_trained else "",
    }


def system(system: SystemSpec) -> dict[str, str]:
    """Return the description and the default parameters of a system."""
    usual = [f"{name} = {_values([value])}" for name, value in system.defaults.items()]
    description = contributions.description(system)
    return {"name": system.name, "about": description, "usual": "; ".join(usual)}


def rows(study: Study, runs: pd.DataFrame, summary: pd.DataFrame) -> list[dict]:
    """Return each experiment's runs and setting, and the summary of its points."""
    entries = []
    for name, settings in study.config.experiments.items():
        of_experiment = runs[runs["experiment"] == name]
        n_finished = int((of_experiment["status"] == "finished").sum())
        entries.append(
            {
                "name": name,
                "system": settings.system,
                "planned": sum(point.count for point in study.experiment(name)),
                "finished": n_finished,
                "unfinished": len(of_experiment) - n_finished,
                "hours": float(of_experiment["seconds"].sum()) / 3600,
                "device": ", ".join(sorted(of_experiment["device"].unique())),
                **_points(summary[summary["experiment"] == name]),
                **setting(study.experiment(name)),
            }
        )
    return entries
