"""Sentences of a report on what each experiment shows: how outcomes change with its sweep."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from circlet.formatting import change, number
from circlet.pages.story import interval
from circlet.study import plots
from circlet.study.plan import Study
from circlet.study.swept import Swept, swept, words
from circlet.systems.spec import SHARE

NAMED = 3  # most outcomes named for an experiment


def sentences(study: Study, effects: pd.DataFrame, summary: pd.DataFrame) -> dict[str, list[str]]:
    """Return sentences on the results of each experiment that has a plot, by experiment.

    For a parameter with an order: which outcomes rise and fall with it, the clearest first; for one
    with words: the changes from its first value. If nothing is swept: the estimates.
    """
    by_experiment = {}
    drawn = {plot.experiment for plot in plots.of(study)}
    for name, settings in study.config.experiments.items():
        if drawn and name not in drawn:
            continue
        points = study.experiment(name)
        of_experiment = effects[effects["experiment"] == name]
        parameters = swept(points)
        shares = {
            outcome.name for outcome in study.outcomes(settings.system) if outcome.kind == "share"
        }
        estimates = summary[(summary["experiment"] == name) & (summary["n_runs"] > 0)]
        ends = {}
        if len(parameters) == 1 and len(points) == len(parameters[0].values):  # one point a value
            places = estimates["point"].map(parameters[0].places(points))
            ends = _ends(estimates.assign(place=places), parameters[0])
        lines = [
            sentence
            for parameter in parameters
            for sentence in _of(
                parameter, of_experiment[of_experiment["parameter"] == parameter.name], shares, ends
            )
        ]
        if not parameters and len(points) == 1:
            rows = estimates.sort_values(
                "outcome", key=lambda names: names.str.startswith("train_"), kind="stable"
            )  # those of the train set last
            lines = [s for row in rows.to_dict("records") if (s := _estimate(row, shares))][:NAMED]
            lines = [f"{'; '.join(lines)}."] if lines else []
        if lines:
            by_experiment[name] = lines
        elif len(of_experiment):
            by_experiment[name] = ["no outcome clearly changes with what is swept."]
    return by_experiment


def _ends(estimates: pd.DataFrame, parameter: Swept) -> dict[str, tuple[float, str]]:
    """Return the change of each outcome between both ends of a sweep, as a number and in words.

    The words include the extreme between the ends, if its interval excludes both estimates there.
    """
    by_outcome = {}
    last = len(parameter.values) - 1
    for outcome, rows in estimates.dropna(subset=["estimate"]).groupby("outcome"):
        line = rows.set_index("place")
        if not {0, last} <= set(line.index):
            continue
        first, end = line.loc[[0, last], "estimate"]
        above, below = line["low"] > max(first, end), line["high"] < min(first, end)
        word, side, is_beyond = ("highest", 1, above) if end > first else ("lowest", -1, below)
        text = f" from {number(first)} to {number(end)}"
        if is_beyond.any():
            at = (side * line.loc[is_beyond, "estimate"]).idxmax()
            text += f", {word}, {number(line.loc[at, 'estimate'])}, at {parameter.texts[at]}"
        by_outcome[outcome] = end - first, text
    return by_outcome


def _of(
    parameter: Swept,
    effects: pd.DataFrame,
    shares: set[str],
    ends: dict[str, tuple[float, str]],
) -> Iterator[str]:
    """Yield a sentence on what a parameter changes; for words, one per value except the first."""
    if parameter.is_words:
        for per, group in effects.groupby("per", sort=False):
            clear = group[group["change_low"] * group["change_high"] > 0]
            parts = [_by(row, "change", shares) for row in clear.head(NAMED).to_dict("records")]
            unknown = group[group["change"].isna()].head(NAMED).to_dict("records")
            # A frozen table may be older than the column of notes.
            parts += [f"{r['label']} unknown: {r['note']}" for r in unknown if r.get("note")]
            if parts:
                first, other = per.split(" to ", 1)
                yield f"{words(parameter.name)} {other} instead of {first}: {'; '.join(parts)}."
        return
    clear = effects[effects["rho_low"] * effects["rho_high"] > 0]
    clear = clear.sort_values("rho", key=lambda rho: -rho.abs(), kind="stable")
    if len(clear):
        rows = clear.head(NAMED).to_dict("records")
        most = "; ".join(_by(row, "rho", shares, ends.get(row["outcome"])) for row in rows)
        span = f"{parameter.texts[0]} to {parameter.texts[-1]}"
        yield f"{words(parameter.name)} {span}: {most}."


def _by(
    row: dict[str, Any],
    name: str,
    shares: set[str],
    ends: tuple[float, str] | None = None,
) -> str:
    """Return an outcome and its change, with the values at both ends if these agree in sign."""
    what = f"share of runs “{row['label']}”" if row["outcome"] in shares else row["label"]
    bounds = interval(row[f"{name}_low"], row[f"{name}_high"])
    if name == "change":
        return f"{what} {change(row[name])} {bounds}"
    trend = "rising" if row[name] > 0 else "falling"
    if ends and ends[0] * row[name] > 0:
        trend += ends[1]
    return f"{what} {trend} (ρ = {number(row[name])} {bounds})"


def _estimate(row: dict[str, Any], shares: set[str]) -> str:
    if math.isnan(row["estimate"]):
        return ""
    unit = "" if row["unit"] == SHARE else f" {row['unit']}".rstrip()
    unit = " of runs" if row["outcome"] in shares else unit
    ends = interval(row["low"], row["high"])
    return f"{row['label']}: {number(row['estimate'])}{unit} {ends}".rstrip()
