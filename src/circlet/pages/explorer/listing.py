"""Lists of the explorer: points with their estimates and runs, systems and experiments."""

from typing import Any

import numpy as np
import pandas as pd

from circlet.analysis import log_frames
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.registry import Collection
from circlet.study.swept import swept, value


def points(study: Study, runs: pd.DataFrame, ends: pd.DataFrame) -> list[dict[str, Any]]:
    """Return all points with their estimates and runs."""
    parameters = {name: swept(study.experiment(name)) for name in study.config.experiments}
    of_point = dict(list(ends.groupby(["experiment", "point"])))
    entries = []
    for point, _, rows in log_frames.by_point(runs, study):
        axes = parameters[point.experiment]
        at = [axis.values.index(value(point, axis.name)) for axis in axes]
        entries.append(_point(point, rows, of_point.get(point.key, ends.iloc[:0]), at))
    return entries


def _point(point: Point, rows: pd.DataFrame, ends: pd.DataFrame, at: list[int]) -> dict[str, Any]:
    listed = rows[rows["shown"] != "nothing"]
    runs = [_run(row, measured(listed), point) for row in listed.to_dict("records")]
    return {
        "experiment": point.experiment,
        "system": point.system.name,
        "name": point.name,
        "parameters": point.parameters,
        "steps": point.steps,
        "steps_per_epoch": point.steps_per_epoch,
        "planned": point.count,
        "unlisted": len(rows) - len(listed),
        "at": at,
        "seeds": point.fixed_seeds,
        "estimates": {
            row["outcome"]: [*(_number(row[k]) for k in ("estimate", "low", "high")), row["n_runs"]]
            for row in ends.to_dict("records")
        },
        "outcomes": list(rows["outcome"].value_counts().items()),
        "runs": runs,
    }


def _run(row: dict[str, Any], measures: list[str], point: Point) -> dict[str, Any]:
    always = ("run_id", "seed", "outcome", "shown", "frames")
    entry: dict[str, Any] = {name: row[name] for name in always}
    entry["moments"] = None if row["moments"] is None else list(row["moments"])
    for name in measures:
        value = row[name]
        if isinstance(value, list | np.ndarray):
            entry[name] = [int(k) for k in value]
        elif (renamed := _epoch(name, point)) != name:
            entry[renamed] = None if pd.isna(value) else value / point.steps_per_epoch
        else:
            entry[name] = _number(value)
    return {name: value for name, value in entry.items() if value is not None}


def _epoch(name: str, point: Point) -> str:
    """Return the name of a column in the page: steps become epochs if a system has batches."""
    counts = point.system.steps_per_epoch is not None and name.endswith("_step")
    return f"{name.removesuffix('_step')}_epoch" if counts else name


def measured(runs: pd.DataFrame) -> list[str]:
    """Return the columns that describe a run besides its outcome."""
    first = runs.columns.get_loc("outcome") + 1  # after the keys and the seed
    others = ("shown", "moments", "frames", "last_step")
    return [name for name in runs.columns[first:] if name not in others]


def _number(value: Any) -> float | None:
    return None if pd.isna(value) or not np.isfinite(value) else float(f"{value:.5g}")


def systems(study: Study, runs: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the systems of the study, by name, in the order of their collections."""
    metrics = {name for system in study.systems for name in study.specs[system].metrics}
    numbers = runs[measured(runs)].select_dtypes("number")
    measures = [name for name in numbers if name not in metrics]
    first = {point.system.name: point for point in study.points}
    return {
        name: _system(first[name], collection, measures)
        for collection in study.collections
        for name in collection.modules("systems")
        if name in first
    }


def _system(point: Point, collection: Collection, measures: list[str]) -> dict[str, Any]:
    """Return what the page knows about a point's system; its logs give panels not declared."""
    system = point.system
    logged = {"embedding": "embeddings", "signals": "signals", "losses": "curves"}
    metadata = collection.metadata
    introductions = {collection.qualified(k): text for k, text in metadata.introductions.items()}
    return {
        "short": metadata.short,
        "outcomes": metadata.outcomes,
        "introduction": introductions.get(system.name, ""),  # for readers who know nothing of it
        "terms": metadata.terms,
        "outcome": "outcome" if (collection.folder / "run_list.py").exists() else "status",
        "columns": _headings(point, [_epoch(name, point) for name in measures]),
        "metrics": [
            {"name": name, "meaning": metric.meaning, "unit": metric.unit}
            for name, metric in system.metrics.items()
        ],
        "panels": system.panels or [name for name, log in logged.items() if log in system.logs],
        "signals": "signals" in system.logs,
        "coloured": system.coloured_signals,
        "opens_with": system.opens_with,
    }


def _headings(point: Point, measures: list[str]) -> dict[str, str]:
    system = point.system
    if system.run_columns:
        return dict(system.run_columns)
    labels = {outcome.name: outcome.label for outcome in system.outcomes if outcome.table == "runs"}
    headings = {}
    for name, metric in system.metrics.items():
        unit = f" ({metric.unit})" if metric.unit not in ("", "0..1") else ""
        headings[name] = labels.get(name, name.replace("_", " ")) + unit
    return headings | {name: name.replace("_", " ") for name in measures}


def experiments(study: Study) -> dict[str, dict[str, Any]]:
    """Return what each experiment sweeps, with the values as text, and its outcomes."""
    return {
        name: {
            "swept": [
                {"name": p.name, "values": p.texts, "words": p.is_words}
                for p in swept(study.experiment(name))
            ],
            "outcomes": {
                outcome.name: {"label": outcome.label, "most": _number(outcome.bounds[1])}
                for outcome in study.outcomes(settings.system)
            },
        }
        for name, settings in study.config.experiments.items()
    }


def rule(points: list[dict[str, Any]], states: pd.DataFrame) -> str:
    """Return, in words, how much of the study is in the page."""
    shown = [run["shown"] for point in points for run in point["runs"]]
    n_runs = len(shown) + sum(point["unlisted"] for point in points)
    trainings = shown.count("training")
    ends = shown.count("end") + trainings
    steps = states.groupby(["run_id", "name"]).size().max() if len(states) else 0
    if trainings == n_runs > 0:
        runs = f"each of the {n_runs} runs" if n_runs > 1 else "the run"
        return f"You can replay the training of {runs}, in at most {steps} steps."
    return (
        f"This page lists {len(shown)} of {n_runs} runs and shows the final state of {ends}. You "
        f"can replay the training of {trainings}, in at most {steps} steps per log (fewer for "
        "large networks), including those nearest to notable events. If space allows, every "
        "setting has at least one replay; the rest is divided evenly among settings. Runs in "
        "figures and the best of each setting come first, then the first seed with each outcome, "
        "then the second, and so on."
    )


def with_frames(runs: pd.DataFrame, states: pd.DataFrame) -> pd.DataFrame:
    """Add ``frames``, the steps of the embedding, else of the longest array, and ``last_step``."""
    steps = states.groupby(["run_id", "name"])["step"].nunique().unstack()
    frames = steps.max(axis=1)
    if "embedding" in steps:
        frames = steps["embedding"].fillna(frames)
    last = states.groupby("run_id")["step"].max()
    named = {"frames": frames, "last_step": last}
    return runs.assign(
        **{name: runs["run_id"].map(of).fillna(0).astype(int) for name, of in named.items()}
    )
