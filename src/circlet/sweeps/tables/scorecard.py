"""Table ``scorecard``: every published claim beside our measurement, with a verdict.

Published values are in the ``claims.csv`` of each collection, a row per claim, and nowhere else
(`circlet.analysis.claims`). The verdict is by rule:

reproduced
    the 95 % interval of the difference, measured - published, contains zero. It counts the noise
    of both samples: theirs has a size too. By ``kind``:

    ``count``        shares of runs; Newcombe's interval for two independent shares;
    ``absent``       the paper has none to report; the same, with zero published;
    ``mean``         normal interval if the paper prints its own; otherwise our standard deviation
                     stands for both samples, and the interval is Student's;
    ``correlation``  difference of Fisher's z;
    ``range``        the paper's value has a tolerance, of as many runs as it has: our value lies
                     in it; with fewer runs it is wider, by the root of their ratio;
    ``sign``         a claim in words: the whole 95 % interval of the effect lies above zero;
deviates
    it does not; of a claim in words, the whole interval lies below zero;
undecided
    too few runs to tell: fewer than five behind a mean, whose interval would be so wide that it
    agrees with anything, or an effect whose interval contains zero;
not_run
    the study has no such run, or not under the paper's conditions.

Some claims can be told under other conditions, too, as that of shorter runs: the row ``accepts``
them, is judged, and its note says in what it differs.

At 95 %, one cell in twenty deviates by chance alone even if everything is the same.
"""

import math
from typing import Any

import pandas as pd
import pyarrow as pa

from circlet.analysis import claims, stats
from circlet.analysis.stats import Estimate
from circlet.errors import ConfigError
from circlet.storage import parquet
from circlet.storage.schema import column, estimate
from circlet.study.plan import Study
from circlet.study.points import Point

OPTIONAL_ROLES = "all"
TABLES = ()

FROM_COLLECTIONS = ("claims.csv",)
COLUMNS = [
    column("claim", pa.string(), "identifier of the claim"),
    column("paper", pa.string(), "collection that has the claim"),
    column("source", pa.string(), "table, figure or section"),
    column("statement", pa.string(), "what is claimed"),
    column("published", pa.float64(), "published value; null if the claim is in words"),
    column("measured", pa.float64(), "our value"),
    column("low", pa.float64(), "lower end of its 95 % interval"),
    column("high", pa.float64(), "upper end of its 95 % interval"),
    column("n_runs", pa.int32(), "runs behind the value, as the circles behind their accuracy"),
    column("n_planned", pa.int32(), "runs planned at these points"),
    column("verdict", pa.string(), "reproduced, deviates, undecided or not_run"),
    *estimate("difference", "measured - published, with the noise of both samples")[:3],
    column("note", pa.string(), "why it was not run, or how its runs differ"),
    column("table", pa.string(), "table that the measured value is in"),
    column("where", pa.string(), "its row"),
    column("column", pa.string(), "its column"),
]
_ENDS = ("low", "high", "n")  # of an estimate
_FEWEST = 5  # runs behind a mean or correlation that is compared


def _assignments(text: str) -> dict[str, str]:
    """``a=1;b>=2`` as {a: 1, b: >=2}."""
    return dict(part.replace(">=", "=>=", 1).split("=", 1) for part in text.split(";") if part)


def _same(value: Any, text: str) -> bool:
    """Whether a value is what a condition says, a value or with ``>=`` a bound."""
    if text.startswith(">="):
        return float(value) >= float(text[2:])
    try:
        return float(value) == float(text)
    except (TypeError, ValueError):
        return str(value) == text


def unmet(study: Study, role: str, conditions: dict[str, str]) -> str:
    """Why the study does not run a claim under some conditions; empty if it does.

    Conditions are parameters, ``steps`` and ``epochs``; ``parent.p`` is that of what the runs start
    from, ``scratch.p`` that of the role ``scratch``. Unless they name which seeds the runs
    ``shared``, it is none.
    """
    if role not in study.reproduce:
        if study.whole and role in study.whole.reproduce:
            return f"nothing is done yet of {study.whole.reproduce[role]}"
        return f"the config's `reproduce` names no experiment for {role}"
    for point in study.experiment(study.reproduce[role]):
        for name, value in ({"shared": "none"} | conditions).items():
            has = _has(study, point, name)
            if not _same(has, value):
                what = "shared seeds" if name == "shared" else name
                return f"runs with {what} {has}, the paper has {value}"
    return ""


def _has(study: Study, point: Point | None, name: str) -> object:
    """What a point has of a condition: itself, its parent, or the first point of another role."""
    owner, _, key = name.rpartition(".")
    if owner == "parent" and point:
        point = point.parent
    elif owner:
        experiment = study.reproduce.get(owner)
        point = study.experiment(experiment)[0] if experiment else None
    if point is None:
        return None
    shared = "+".join(point.fixed_seeds) or "none"
    epochs = point.steps / point.steps_per_epoch
    return (point.parameters | {"steps": point.steps, "epochs": epochs, "shared": shared}).get(key)


_UNKNOWN = (math.nan, math.nan, math.nan)


def difference(claim: pd.Series, measured: Estimate) -> tuple[float, float, float]:
    """Measured - published and the ends of its 95 % interval; NaN where it cannot be told.

    ``claim`` is a row of `claims.read`, ``measured`` our estimate; of a count, the count itself
    among its ``n`` runs.
    """
    value, low, high, n = measured
    published, their_n = claim["published"], claim["published_n"]
    if claim["kind"] in ("count", "absent"):
        if n == 0:
            return _UNKNOWN
        known = 0 if claim["kind"] == "absent" else int(published)
        shares = stats.share_difference(int(value), n, known, int(their_n))
        return shares.times(their_n)[:3]
    if n < _FEWEST or math.isnan(high):
        return _UNKNOWN
    if claim["kind"] == "correlation":
        spread = stats.Z * math.hypot(1 / math.sqrt(n - 3), 1 / math.sqrt(their_n - 3))
        low, high = (math.tanh(math.atanh(value) + side * spread) for side in (-1, 1))
        return value - published, low - published, high - published
    if not math.isnan(claim["published_low"]):
        theirs = (claim["published_high"] - claim["published_low"]) / 2
        half = math.hypot((high - low) / 2, theirs)
    else:
        half = (high - low) / 2 * math.sqrt(1 + n / their_n)
    return value - published, value - published - half, value - published + half


def in_tolerance(claim: pd.Series, measured: Estimate) -> bool:
    """Whether a value lies in the tolerance of the published one; an end that is not given is open.

    Tolerances are bands of the paper's number of runs; that of fewer is so much wider.
    """
    wider = max(1.0, math.sqrt(claim["published_n"] / measured.n))
    center, low, high = claim[["published", "published_low", "published_high"]]
    # A comparison with NaN, an open end, is false.
    below = measured.value < center - wider * (center - low)
    above = measured.value > center + wider * (high - center)
    return not (below or above or math.isnan(measured.value))


def judge(claim: pd.Series, measured: Estimate) -> dict:
    """Measured value, interval, difference and verdict of one claim."""
    if claim["kind"] == "sign":
        gap, holds = _UNKNOWN, measured.low > 0
        decided = holds or measured.high <= 0
    elif claim["kind"] == "range":
        gap = (measured.value - claim["published"], math.nan, math.nan)
        decided = measured.n >= min(_FEWEST, claim["published_n"])
        holds = decided and in_tolerance(claim, measured)
    else:
        gap = difference(claim, measured)
        decided, holds = not math.isnan(gap[1]), gap[1] <= 0 <= gap[2]
    shown = measured[:3]
    if claim["kind"] in ("count", "absent") and measured.n:
        # Counts are compared per as many runs as the paper has.
        shown = measured.times(claim["published_n"] / measured.n)[:3]
    verdict, few = "undecided", f"only {measured.n} run{'s'[: measured.n > 1]}"
    if decided:
        verdict = "reproduced" if holds else "deviates"
    elif measured.n == 0:
        verdict, few = "not_run", "no run"
    elif claim["kind"] == "sign" and measured.low <= 0 < measured.high:
        few = "the interval contains zero"
    return {
        **dict(zip(("measured", "low", "high"), shown, strict=True)),
        **dict(zip(("difference", "difference_low", "difference_high"), gap, strict=True)),
        "n_runs": measured.n,
        "verdict": verdict,
        "note": "" if decided else f"{few}: too few to tell",
    }


def _wrong(claim: pd.Series, what: str) -> str:
    where = f"claims.csv of {claim['collection']}: {claim['claim']}"
    return f"{where}: the table {claim['table']} {what}"


def _answer(study: Study, claim: pd.Series) -> dict:
    wanted = _assignments(claim["conditions"])
    differs = unmet(study, claim["role"], wanted)
    accepted = wanted | _assignments(claim["accepts"])
    reason = differs if unmet(study, claim["role"], accepted) else ""
    if not reason:
        frame = parquet.read_table(study, claim["table"])
        if "experiment" in frame:
            frame = frame[frame["experiment"] == study.reproduce[claim["role"]]]
        for name, value in claim["keys"].items():
            if name not in frame:
                raise ConfigError(_wrong(claim, f"has no column {name!r}"))
            frame = frame[frame[name] == value]
        if len(frame) > 1:
            text = claims.text_of(claim["keys"]) or "any key"
            raise ConfigError(_wrong(claim, f"has {len(frame)} rows with {text}, not one"))
        if len(frame):
            row, column = frame.iloc[0], claim["column"]
            needed = {column, *(f"{column}_{end}" for end in _ENDS), "n_planned"}
            if lacking := needed - set(frame.columns):
                raise ConfigError(_wrong(claim, f"has no column {min(lacking)!r}"))
            low, high, n = (row[f"{column}_{end}"] for end in _ENDS)
            measured = Estimate(float(row[column]), float(low), float(high), int(n))
            verdict = judge(claim, measured)
            note = "; ".join(filter(None, [verdict["note"], differs]))
            n_runs = min(measured.n, int(row.get("n_runs", measured.n)))  # n may count pairs
            return verdict | {"n_runs": n_runs, "n_planned": row["n_planned"], "note": note}
        reason = f"{claim['table']} has no row with {claims.text_of(claim['keys'])}"
    return judge(claim, Estimate()) | {"n_planned": 0, "note": reason}


def table(study: Study) -> list[dict]:
    """A row per published claim, in the order of the collections."""
    shown = ["claim", "source", "statement", "published", "table", "column"]
    return [
        {
            **claim[shown],
            "paper": claim["collection"],
            "where": claims.text_of(claim["keys"]),
            **_answer(study, claim),
        }
        for _, claim in claims.read(study).iterrows()
    ]
