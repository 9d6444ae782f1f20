"""The systems and experiments of a study, for its report: parameters, runs, results of points."""

from typing import Any

import pandas as pd

from circlet.formatting import interval, number
from circlet.pages import story
from circlet.study import contributions, cost
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.swept import text
from circlet.systems.spec import SHARE, SystemSpec

OPTIMIZERS = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD"}
MAX_VALUES = 8  # most values of a parameter to list


def _points(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    by_experiment = {}
    for name, of_experiment in table.groupby("experiment"):
        headings = {"runs": "runs"}
        rows: dict[str, dict[str, str]] = {}
        for row in of_experiment.to_dict("records"):
            unit = f", {row['unit']}" if row["unit"] not in ("", SHARE, "steps") else ""
            headings[f"of {row['outcome']}"] = f"{row['label']}{unit}"
            cells = rows.setdefault(row["point"], {"point": row["point"]})
            max_runs = max(row["n_runs"], int(cells.get("runs", "0").split()[0]))
            cells["runs"] = f"{max_runs} of {row['n_planned']}"
            cells[f"of {row['outcome']}"] = _cell(row)
        by_experiment[name] = {"headings": headings, "rows": list(rows.values())}
    return by_experiment


def _cell(row: dict[str, Any]) -> str:
    """Return an outcome of a point with its interval, an end of which may be unknown."""
    center, low, high = row["estimate"], row["low"], row["high"]
    is_open = pd.isna(low) != pd.isna(high)
    possible = story.RANGES.get(row["unit"])
    ends = interval(low, high) if is_open else story.interval(low, high, possible)
    return f"{number(center)} {ends}".rstrip()


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
    acts = {k: None for point in points for k in point.keys if k not in system.parameters}
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
    """Return each experiment's runs and setting, and the summary of its points, if any."""
    summaries = _points(summary)
    entries = []
    for name, settings in study.config.experiments.items():
        of_experiment = runs[runs["experiment"] == name]
        entries.append(
            {
                "name": name,
                "system": settings.system,
                "planned": sum(point.count for point in study.experiment(name)),
                "finished": int((of_experiment["status"] == "finished").sum()),
                "unfinished": int((of_experiment["status"] != "finished").sum()),
                "hours": float(of_experiment["seconds"].sum()) / 3600,
                "device": ", ".join(sorted(of_experiment["device"].unique())),
                "points": summaries.get(name),
                **setting(study.experiment(name)),
            }
        )
    return entries
