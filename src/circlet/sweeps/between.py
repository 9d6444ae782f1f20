"""Two studies side by side: their configs, code, outcomes and verdicts, and a forest plot.

The comparison reads tables, whose footers have the config. Two settings are compared if their
experiments have the same name and all parameters agree, except those that each study fixes to a
different value.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from circlet.errors import ConfigError, LogError, unknown
from circlet.plotting import make, style
from circlet.storage import parquet
from circlet.study.seeds import PURPOSES
from circlet.study.swept import text
from circlet.sweeps.plots import forest
from circlet.sweeps.tables import comparisons, outcome_summary

MAX_OUTCOMES, MAX_SETTINGS = 4, 30  # in the figure


class Compared(NamedTuple):
    """Differences between two studies."""

    config: list[str]  # a line for each key
    code: list[str]  # a line for each system and each of commit, versions, machine and device
    outcomes: pd.DataFrame  # as the table ``comparisons``, with the estimates of both studies
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

    def save_figure(self, path: Path) -> None:
        """Draw the clearest differences; the suffix of ``path`` is the format.

        Raises ConfigError if it is no format of figures, or if no difference has an interval.
        """
        kind, kinds = path.suffix.removeprefix("."), Figure().canvas.get_supported_filetypes()
        if kind not in kinds:
            raise ConfigError(f"--figure {path}: {unknown('format', kind, kinds)}")
        rows = self.clearest
        if rows.empty:
            raise ConfigError(f"--figure {path}: no difference has an interval")
        rows = rows[rows["outcome"].isin([*dict.fromkeys(rows["outcome"])][:MAX_OUTCOMES])]
        rows = rows[rows["at"].isin([*dict.fromkeys(rows["at"])][:MAX_SETTINGS])]
        with mpl.rc_context(style.RC):
            make.save(forest.forest(rows, [*dict.fromkeys(rows["outcome"])]), path)


def studies(a: Path, b: Path) -> Compared:
    """Compare two results folders; raises LogError if one lacks the tables that are compared."""
    tables = [_tables(folder) for folder in (a, b)]
    config = [parquet.footer(folder / "tables/outcomes.parquet")["study"] for folder in (a, b)]
    rows, only = _outcomes(*tables)
    return Compared(
        sorted(_differing(*config)),
        _code(a, b),
        pd.DataFrame(rows, columns=[*(field.name for field in comparisons.COLUMNS), *"AB"]),
        _verdicts(a, b),
        only,
    )


def _tables(folder: Path) -> dict[str, pd.DataFrame]:
    if not folder.is_dir():
        raise LogError(f"{folder}: there is no such folder; give the `results` of a study")
    names = ("outcomes", "outcome_summary", "runs")
    tables = {name: parquet.read(folder / f"tables/{name}.parquet").to_pandas() for name in names}
    return tables | {"outcomes": _by_point(tables["outcomes"], tables["runs"])}


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
    made = pd.concat(by_name, axis=1, join="inner", keys=["A", "B"]).map(", ".join)
    changed = made[made["A"] != made["B"]]
    return [f"{system}: {name}: {x} -> {y}" for (system, name), x, y in changed.itertuples()]


def _parameters(table: pd.DataFrame) -> list[str]:
    """Return the columns of parameters, which stand between ``run_id`` and ``seed``."""
    names = list(table)
    return names[names.index("run_id") + 1 : names.index("seed")]


def _outcomes(
    a: dict[str, pd.DataFrame], b: dict[str, pd.DataFrame]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the differences of all outcomes of all common settings, and what only one has."""
    x, y = _alike(a["outcomes"], b["outcomes"])
    rows: list[dict[str, Any]] = []
    names = [set(table["experiment"]) for table in (x, y)]
    only = [f"only in A: {name}" for name in sorted(names[0] - names[1])]
    only += [f"only in B: {name}" for name in sorted(names[1] - names[0])]
    about = {
        (row.experiment, row.outcome): outcome_summary.described(row)
        for table in (b["outcome_summary"], a["outcome_summary"])
        for row in table.itertuples()
    }
    for experiment in sorted(names[0] & names[1]):
        selected = [table[table["experiment"] == experiment] for table in (x, y)]
        keys, fixed = _keys(*selected)
        groups = [_groups(table, keys) for table in selected]
        unmatched = len(groups[0].keys() ^ groups[1].keys())
        if unmatched:
            only.append(f"{experiment}: {unmatched} settings are in only one of them")
        for key in (key for key in groups[0] if key in groups[1]):
            varied = [
                f"{k} {text(v)}" for k, v in zip(keys, key, strict=True) if _varies(selected, k)
            ]
            first, second = (dict(list(group[key].groupby("outcome"))) for group in groups)
            for name in (name for name in first if name in second):
                outcome, runs = about[experiment, name], (first[name], second[name])
                estimates = (outcome_summary.row(outcome, r)["estimate"] for r in runs)
                rows.append(
                    {
                        "experiment": experiment,
                        "parameter": fixed[0] if fixed else "study",
                        "first": fixed[1] if fixed else "A",
                        "second": fixed[2] if fixed else "B",
                        "at": ", ".join([experiment, *varied]),
                    }
                    | comparisons.difference(outcome, *runs)
                    | dict(zip("AB", estimates, strict=True))
                )
    return rows, only


def _by_point(outcomes: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return ``outcomes`` with all columns that distinguish points; lists become tuples."""
    point = outcomes["run_id"].str.split("/").str[1]
    seeds = point.str.findall(rf"(?:{'|'.join(PURPOSES)})-\d+").str.join(" ")
    # Tables of an early version have no column `products`.
    arithmetic = runs.set_index("run_id").reindex(columns=["dtype", "products"]).fillna("float32")
    settings = {name: outcomes["run_id"].map(values) for name, values in arithmetic.items()}
    table = outcomes.copy()
    for name in _parameters(table):
        if table[name].map(type).eq(np.ndarray).any():
            table[name] = table[name].map(tuple, na_action="ignore")
    for name, values in ({"fixed seeds": seeds} | settings).items():
        table.insert(list(table).index("run_id") + 1, name, values)
    return table


def _alike(x: pd.DataFrame, y: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables with the parameters of either, missing where a study has no such one."""
    names = list(dict.fromkeys([*_parameters(x), *_parameters(y)]))
    first, last = ["experiment", "system", "run_id"], ["seed", "outcome", "value", "after"]
    return x.reindex(columns=[*first, *names, *last]), y.reindex(columns=[*first, *names, *last])


def _varies(tables: list[pd.DataFrame], name: str) -> bool:
    return any(name in table and table[name].nunique(dropna=False) > 1 for table in tables)


def _keys(x: pd.DataFrame, y: pd.DataFrame) -> tuple[list[str], tuple[str, str, str] | None]:
    """Return the parameters by which settings are matched, and one that differs, with its values.

    Each study fixes the latter to another value; of several the first is returned, of none None.
    """
    names = _parameters(x)
    fixed = [
        name
        for name in names
        if x[name].nunique(dropna=False) == y[name].nunique(dropna=False) == 1
        and _text(x[name].iloc[0]) != _text(y[name].iloc[0])
    ]
    fixed.sort(key=lambda name: x[name].isna().any() or y[name].isna().any())
    ends = [(name, _text(x[name].iloc[0]), _text(y[name].iloc[0])) for name in fixed]
    return [name for name in names if name not in fixed], next(iter(ends), None)


def _text(value: Any) -> str:
    return text(None if isinstance(value, float) and math.isnan(value) else value)


def _groups(table: pd.DataFrame, keys: list[str]) -> dict[tuple, pd.DataFrame]:
    named = table[keys].astype(object).where(table[keys].notna(), None)
    marks = [tuple(row) for row in named.itertuples(index=False)]
    return dict(list(table.groupby(pd.Series(marks, index=table.index))))


def _verdicts(a: Path, b: Path) -> list[str]:
    paths = [folder / "tables/scorecard.parquet" for folder in (a, b)]
    if not all(path.exists() for path in paths):
        return []
    one, other = (parquet.read(path).to_pandas().set_index("claim") for path in paths)
    joined = one.join(other, rsuffix="_b", how="inner")
    changed = joined[joined["verdict"] != joined["verdict_b"]]
    return [
        f"{row.Index}: {row.verdict} -> {row.verdict_b} "
        f"({row.measured:.3g} [{row.measured_low:.3g} … {row.measured_high:.3g}] -> "
        f"{row.measured_b:.3g} [{row.measured_low_b:.3g} … {row.measured_high_b:.3g}])"
        for row in changed.itertuples()
    ]
