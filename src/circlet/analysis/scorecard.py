"""Table ``scorecard``: every published claim beside our measurement, with a verdict.

Published values are in ``data/published.csv``, one row per claim, and nowhere else. A row names
the ``table``, the row in it (``where``) and the ``column`` that answers the claim, the experiment
(``role``) and the ``conditions`` under which the paper's value holds. The verdict is by rule:

reproduced
    the 95 % interval of the difference, measured - published, contains zero. It counts the noise
    of both samples: theirs has a size too. By ``kind``:

    ``count``        shares of runs; Newcombe's interval for two independent shares;
    ``absent``       the paper has none to report; the same, with zero published;
    ``mean``         normal interval if the paper prints its own; otherwise our standard deviation
                     stands for both samples, and the interval is Student's;
    ``correlation``  difference of Fisher's z;
    ``sign``         a claim in words: the whole 95 % interval of the effect lies above zero;
deviates
    it does not;
not_run
    the study does not run it, not under the paper's conditions, or has too few runs to tell.

At 95 %, one cell in twenty deviates by chance alone even if everything is the same.
"""

import math

import pandas as pd
from scipy.special import stdtrit

from circlet import io, source
from circlet.analysis import stats
from circlet.plan import Study

OPTIONAL_ROLES = ("table1", "table2", "weight_magnitudes")
TABLES = ()
OPTIONAL_TABLES = ("table1", "table2", "musat_claims")

DATA = ("data/published.csv",)


def _assignments(text: str) -> dict[str, str]:
    return dict(part.split("=") for part in text.split(";") if part)


def _same(value: object, text: str) -> bool:
    try:
        return float(value) == float(text)
    except (TypeError, ValueError):
        return str(value) == text


def unmet(study: Study, role: str, conditions: str) -> str:
    """Why the study does not run a claim as published; empty if it does."""
    if role not in study.reproduce:
        return f"the config's `reproduce` names no experiment for {role}"
    for point in study.experiment(study.reproduce[role]):
        has = point.parameters | {"steps": point.steps}
        for name, value in _assignments(conditions).items():
            if not _same(has.get(name), value):
                return f"runs with {name} {has.get(name)}, the paper has {value}"
    return ""


def difference(claim: pd.Series, row: pd.Series) -> stats.Estimate:
    """Measured - published with its 95 % interval; NaN where it cannot be told.

    Parameters
    ----------
    claim
        A row of published.csv.
    row
        The row of the table that answers it.
    """
    column, published = claim["column"], claim["published"]
    if claim["kind"] in ("count", "absent"):
        if row["n_runs"] == 0:
            return stats.NONE
        known = 0 if claim["kind"] == "absent" else int(published)
        n = int(claim["published_n"])
        shares = stats.share_difference(int(row[column]), int(row["n_runs"]), known, n)
        return tuple(n * share for share in shares)
    value, low, high = (row[name] for name in (column, f"{column}_low", f"{column}_high"))
    if math.isnan(high - low):
        return stats.NONE
    if claim["kind"] == "correlation":
        ours = (math.atanh(high) - math.atanh(low)) / (2 * stats.Z)
        spread = stats.Z * math.hypot(ours, 1 / math.sqrt(claim["published_n"] - 3))
        center = math.atanh(value) - math.atanh(published)
        # Back on the scale of r, seen from the published value.
        ends = (math.atanh(published) + center + side * spread for side in (-1, 1))
        return (value - published, *(math.tanh(end) - published for end in ends))
    ours = (high - low) / (2 * stats.Z)
    if not math.isnan(claim["published_low"]):
        theirs = (claim["published_high"] - claim["published_low"]) / (2 * stats.Z)
        half = stats.Z * math.hypot(ours, theirs)
    else:
        sd = row[f"{column}_sd"]
        n = round((sd / ours) ** 2)
        half = float(stdtrit(n - 1, 0.975)) * sd * math.sqrt(1 / n + 1 / claim["published_n"])
    return value - published, value - published - half, value - published + half


def judge(claim: pd.Series, row: pd.Series) -> dict:
    """Measured value, interval, difference and verdict of one claim."""
    column, kind = claim["column"], claim["kind"]
    measured = tuple(
        float(row.get(name, math.nan)) for name in (column, f"{column}_low", f"{column}_high")
    )
    if kind in ("count", "absent") and row["n_runs"]:
        # Counts are compared per as many runs as the paper has.
        low_high = stats.count(int(row[column]), int(row["n_runs"]))
        measured = tuple(claim["published_n"] / row["n_runs"] * value for value in low_high)
    if kind == "sign":
        gap, decided, holds = stats.NONE, not math.isnan(measured[1]), measured[1] > 0
    else:
        gap = difference(claim, row)
        decided, holds = not math.isnan(gap[1]), gap[1] <= 0 <= gap[2]
    verdict = ("reproduced" if holds else "deviates") if decided else "not_run"
    return {
        **dict(zip(("measured", "low", "high"), measured, strict=True)),
        **stats.columns("difference", gap),
        "n_runs": int(row["n_runs"]),
        "n_planned": int(row["n_planned"]),
        "verdict": verdict,
        "note": "" if decided else "too few runs to tell",
    }


def _answer(study: Study, claim: pd.Series) -> dict:
    nothing = {
        **dict.fromkeys(("measured", "low", "high"), math.nan),
        **stats.columns("difference", stats.NONE),
        "n_runs": 0,
        "n_planned": 0,
        "verdict": "not_run",
    }
    reason = unmet(study, claim["role"], claim["conditions"])
    if reason:
        return nothing | {"note": reason}
    frame = io.read_table(study, claim["table"])
    for name, value in _assignments(claim["where"]).items():
        frame = frame[[_same(cell, value) for cell in frame[name]]]
    if frame.empty:
        return nothing | {"note": f"{claim['table']} has no row with {claim['where']}"}
    return judge(claim, frame.iloc[0])


def table(study: Study) -> pd.DataFrame:
    """A row per published claim, in the order of the papers."""
    published = pd.read_csv(source.PACKAGE / DATA[0]).fillna({"conditions": ""})
    shown = ["claim", "paper", "source", "statement", "published", "table"]
    return pd.DataFrame(
        [{**claim[shown], **_answer(study, claim)} for _, claim in published.iterrows()]
    )
