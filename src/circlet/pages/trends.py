"""Sentences of a report on what each experiment shows: how outcomes change with its sweep."""

from collections.abc import Iterator

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
    for name in study.config.experiments:
        if not drawn or name in drawn:
            changes = effects[effects["experiment"] == name]
            estimates = summary[(summary["experiment"] == name) & (summary["n_runs"] > 0)]
            lines = [*_of_experiment(study, name, changes, estimates)]
            if not lines and len(changes):
                lines = ["no outcome clearly changes with what is swept."]
            if lines:
                by_experiment[name] = lines
    return by_experiment


def _of_experiment(
    study: Study, name: str, effects: pd.DataFrame, estimates: pd.DataFrame
) -> Iterator[str]:
    points = study.experiment(name)
    outcomes = study.outcomes(points[0].system.name)
    shares = {outcome.name for outcome in outcomes if outcome.kind == "share"}
    parameters = swept(points)
    if len(points) == 1:
        yield from _estimates(estimates, shares)
    if len(parameters) > 1 or any(len(points) > len(p.values) for p in parameters):
        estimates = estimates.iloc[:0]  # a value of a parameter has several
    labels, is_share = effects["label"], effects["outcome"].isin(shares)
    effects = effects.assign(label=labels.where(~is_share, "share of runs “" + labels + "”"))
    for parameter in parameters:
        of_parameter = effects[effects["parameter"] == parameter.name]
        if parameter.is_words:
            yield from _by_word(parameter, of_parameter)
        else:
            places = estimates["point"].map(parameter.places(points))
            yield from _in_order(parameter, of_parameter, estimates.assign(place=places))


def _estimates(estimates: pd.DataFrame, shares: set[str]) -> Iterator[str]:
    """Yield a sentence on the estimates of an only point, those of the train set last."""
    ordered = estimates.dropna(subset=["estimate"]).sort_values(
        "outcome", key=lambda names: names.str.startswith("train_"), kind="stable"
    )
    parts = []
    for row in ordered.head(NAMED).itertuples():
        unit = "of runs" if row.outcome in shares else {SHARE: ""}.get(row.unit, row.unit)
        texts = (f"{row.label}:", number(row.estimate), unit, interval(row.low, row.high))
        parts.append(" ".join(filter(None, texts)))
    if parts:
        yield f"{'; '.join(parts)}."


def _by_word(parameter: Swept, effects: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence on each value except the first: the clear changes, and unknown ones."""
    for per, group in effects.groupby("per", sort=False):
        clear = group[group["change_low"] * group["change_high"] > 0]
        parts = [
            f"{row.label} {change(row.change)} {interval(row.change_low, row.change_high)}"
            for row in clear.head(NAMED).itertuples()
        ]
        unknown = group[group["change"].isna()].head(NAMED).to_dict("records")
        # A frozen table may be older than the column of notes.
        parts += [f"{row['label']} unknown: {row['note']}" for row in unknown if row.get("note")]
        if parts:
            first, other = per.split(" to ", 1)
            yield f"{words(parameter.name)} {other} instead of {first}: {'; '.join(parts)}."


def _in_order(parameter: Swept, effects: pd.DataFrame, estimates: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence on the outcomes that clearly rise or fall."""
    clear = effects[effects["rho_low"] * effects["rho_high"] > 0]
    clear = clear.sort_values("rho", key=lambda rho: -rho.abs(), kind="stable").head(NAMED)
    parts = [
        f"{row.label} {'rising' if row.rho > 0 else 'falling'}"
        f"{_between(parameter, row.rho, estimates[estimates['outcome'] == row.outcome])} "
        f"(ρ = {number(row.rho)} {interval(row.rho_low, row.rho_high)})"
        for row in clear.itertuples()
    ]
    if parts:
        span = f"{parameter.texts[0]} to {parameter.texts[-1]}"
        yield f"{words(parameter.name)} {span}: {'; '.join(parts)}."


def _between(parameter: Swept, rho: float, estimates: pd.DataFrame) -> str:
    """Return the estimates at both ends of a sweep in words, if their order agrees with ``rho``.

    Also the extreme between the ends, if its interval excludes both estimates there.
    """
    line = estimates.dropna(subset=["estimate"]).set_index("place")
    last = len(parameter.values) - 1
    if not {0, last} <= set(line.index):
        return ""
    first, end = line.loc[[0, last], "estimate"]
    if (end - first) * rho <= 0:
        return ""
    text = f" from {number(first)} to {number(end)}"
    word, sign, near = ("highest", 1, "low") if rho > 0 else ("lowest", -1, "high")
    beyond = line.loc[sign * (line[near] - end) > 0, "estimate"] * sign
    if beyond.empty:
        return text
    at = beyond.idxmax()
    return f"{text}, {word}, {number(line.loc[at, 'estimate'])}, at {parameter.texts[at]}"
