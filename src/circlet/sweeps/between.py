"""Two studies side by side: their configs, code, outcomes and verdicts.

The comparison reads tables, whose footers have the config. Two settings are compared if their
experiments have the same name and all parameters agree, except those that each study fixes to a
different value.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from circlet.errors import LogError
from circlet.formatting import interval, number
from circlet.storage import parquet, schema
from circlet.study.seeds import PURPOSES
from circlet.study.swept import text
from circlet.sweeps.tables import comparisons, outcome_summary
from circlet.systems.spec import Outcome

_NO_PARAMETERS = ("experiment", "system", "run_id", "seed", "outcome", "value", "after")


class Compared(NamedTuple):
    """Differences between two studies."""

    config: list[str]  # a line for each key
    code: list[str]  # a line for each system and each of commit, versions, machine and device
    outcomes: pd.DataFrame  # as in the table ``comparisons``, with the estimates of both studies
    verdicts: list[str]  # a line for each claim that is judged differently
    only: list[str]  # experiments and settings that only one study has

    @property
    def clearest(self) -> pd.DataFrame:
        """Differences that have an interval, the clearest first; ``clear``: it excludes zero."""
        rows = self.outcomes.astype({"estimate": float, "low": float, "high": float})
        rows = rows[rows["low"].notna() | rows["high"].notna()]
        rows = rows.assign(clear=(rows["low"] > 0) | (rows["high"] < 0))
        half = (rows["high"] - rows["low"]) / 2
        clarity = rows["estimate"].abs() / half.where(half > 0, 1e-12)
        clarity = clarity.fillna(rows["clear"].map({True: math.inf, False: 0.0}))
        return rows.loc[clarity.sort_values(ascending=False).index]


def studies(a: Path, b: Path) -> Compared:
    """Compare two results folders; raises LogError if one lacks the tables that are compared."""
    outcomes, kinds = zip(*map(_read, (a, b)), strict=True)
    config = [parquet.footer(folder / "tables/outcomes.parquet")["study"] for folder in (a, b)]
    rows, only = _outcomes(
        pd.concat(outcomes, keys=["A", "B"], names=["study"]), kinds[1] | kinds[0]
    )
    columns = schema.names(comparisons.COLUMNS)
    return Compared(
        sorted(_differing(*config)),
        _code(a, b),
        pd.DataFrame(rows, columns=[*columns[columns.index("at") :], *"AB"]),
        _verdicts(a, b),
        only,
    )


def _read(folder: Path) -> tuple[pd.DataFrame, dict[tuple[str, str], Outcome]]:
    """Return ``outcomes`` with all that distinguishes points, and outcomes by experiment and name.

    Lists become tuples.
    """
    if not folder.is_dir():
        raise LogError(f"{folder}: there is no such folder; give the `results` of a study")
    outcomes, summary, runs = (
        parquet.read(folder / f"tables/{name}.parquet").to_pandas()
        for name in ("outcomes", "outcome_summary", "runs")
    )
    # Tables of an early version have no column `products`.
    settings = runs.set_index("run_id").reindex(columns=["products", "dtype"]).fillna("float32")
    settings = settings.reindex(outcomes["run_id"]).reset_index(drop=True)
    point = outcomes["run_id"].str.split("/").str[1]
    seeds = point.str.findall(rf"(?:{'|'.join(PURPOSES)})-\d+").str.join(" ")
    for name in outcomes:
        if any(isinstance(value, np.ndarray) for value in outcomes[name]):
            outcomes[name] = outcomes[name].map(tuple, na_action="ignore")
    kinds = {(r.experiment, r.outcome): outcome_summary.described(r) for r in summary.itertuples()}
    return pd.concat([settings.assign(**{"fixed seeds": seeds}), outcomes], axis=1), kinds


def _differing(one: Any, other: Any, path: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            if (path, key) != ("", "results"):
                yield from _differing(one.get(key), other.get(key), f"{path}.{key}".strip("."))
    elif one != other:
        values = (json.dumps(value)[:60] for value in (one, other))
        yield f"{path}: {' -> '.join(values)}"


def _code(a: Path, b: Path) -> list[str]:
    """Return commits, versions, machines and devices of each system's runs, where they differ."""
    paths = [folder / "tables/provenance.parquet" for folder in (a, b)]
    if not all(path.exists() for path in paths):
        return []
    rows = (
        parquet.read(path).to_pandas().melt("system", ["commit", "versions", "machine", "device"])
        for path in paths
    )
    by_name = (part.groupby(["system", "variable"])["value"].unique().map(sorted) for part in rows)
    made = pd.concat(by_name, axis=1, join="inner", keys=["A", "B"], names=["study"]).map(", ".join)
    changed = made[made["A"] != made["B"]]
    return [f"{system}: {name}: {x} -> {y}" for (system, name), x, y in changed.itertuples()]


def _outcomes(
    both: pd.DataFrame, kinds: dict[tuple[str, str], Outcome]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the differences of all outcomes of all common settings, and what only one study has.

    If each study fixes some parameter to a value of its own, settings are matched by the others.
    """
    rows: list[dict[str, Any]] = []
    of_study = both.index.get_level_values("study")
    names = [set(both.loc[of_study == study, "experiment"]) for study in "AB"]
    only = [f"only in A: {name}" for name in sorted(names[0] - names[1])]
    only += [f"only in B: {name}" for name in sorted(names[1] - names[0])]
    parameters = [name for name in both if name not in _NO_PARAMETERS]
    for experiment in sorted(names[0] & names[1]):
        table = both[both["experiment"] == experiment]
        counts = table.groupby("study")[parameters].nunique(dropna=False)
        values = table[parameters].astype(object).where(table[parameters].notna(), None)
        a, b = (values.loc[study].iloc[0] for study in "AB")
        fixed = [name for name in parameters if counts[name].eq(1).all() and a[name] != b[name]]
        keys = [name for name in parameters if name not in fixed]
        settings = pd.Series([*values[keys].itertuples(index=False, name=None)], table.index)
        if unmatched := len({*settings["A"]} ^ {*settings["B"]}):
            only.append(f"{experiment}: {unmatched} settings are in only one of them")
        for (setting, name), group in table.groupby([settings, "outcome"]):
            outcome, samples = kinds[experiment, name], [s for _, s in group.groupby("study")]
            if len(samples) == 2:
                pairs = zip(keys, setting, strict=True)
                varied = [f"{key} {text(value)}" for key, value in pairs if counts[key].max() > 1]
                estimates = (outcome_summary.row(outcome, s)["estimate"] for s in samples)
                rows.append(
                    {"at": ", ".join([experiment, *varied])}
                    | comparisons.difference(outcome, *samples)
                    | dict(zip("AB", estimates, strict=True))
                )
    return rows, only


def _verdicts(a: Path, b: Path) -> list[str]:
    paths = [folder / "tables/scorecard.parquet" for folder in (a, b)]
    if not all(path.exists() for path in paths):
        return []
    one, other = (parquet.read(path).to_pandas().set_index("claim") for path in paths)
    joined = one.join(other, rsuffix="_b", how="inner")
    changed = joined[joined["verdict"] != joined["verdict_b"]]
    return [
        f"{row.Index}: {row.verdict} -> {row.verdict_b} "
        f"({number(row.measured)} {interval(row.measured_low, row.measured_high)} -> "
        f"{number(row.measured_b)} {interval(row.measured_low_b, row.measured_high_b)})"
        for row in changed.itertuples()
    ]
