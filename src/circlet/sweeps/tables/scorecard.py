"""Table ``scorecard``: published value, our value, margin and verdict of each claim.

Published values are in the ``claims.csv`` of each collection, and nowhere else. docs/verdicts.md
defines the verdicts. ``not_run``: the study has no such run, or not under the paper's conditions.

Some claims can also be judged on other runs; the note says how these differ. If shorter runs have
been shown to decide the same (column ``shorter`` of the claims), the claim still counts as a test.
Under other conditions that the claim ``accepts``, it does not. If a trivial answer would pass as
well, the claim is undecided.
"""

from functools import partial
from typing import Any

import pandas as pd

from circlet.analysis import claims, verdicts
from circlet.analysis.stats import Estimate
from circlet.errors import ConfigError, LogError
from circlet.storage import parquet
from circlet.storage.schema import column, estimate
from circlet.study import claims_file, swept
from circlet.study.plan import Study
from circlet.study.points import Point

OPTIONAL_ROLES = "all"

COLLECTION_FILES = ("collection.yaml",)
USES = ("claims",)
COLUMNS = [
    column("claim", "string", "identifier of the claim"),
    column("paper", "string", "collection that has the claim"),
    column("reference", "string", "what the value is from: paper, or another of the collection"),
    column("source", "string", "table, figure or section"),
    column("statement", "string", "what is claimed, a sentence"),
    column("unit", "string", "unit of the values"),
    column("kind", "string", "how it is judged, see circlet.analysis.verdicts"),
    column(
        "tally",
        "string",
        "test, or why it is none of its own: other (runs as the claim accepts them), repeat, "
        "arithmetic, fitted, beyond (the papers)",
    ),
    column("published", "float64", "published value; null if the claim is in words"),
    *estimate("measured", "our value; a share per as many runs as the paper has"),
    column("n_runs", "int32", "runs behind it, of which some may share what is judged"),
    column("n_planned", "int32", "runs planned at these points"),
    column("verdict", "string", "reproduced, compatible, deviates, undecided or not_run"),
    *estimate("difference", "measured - published, with the noise of both samples")[:3],
    column("same_low", "float64", "lowest value within the margin; null if there is none"),
    column("same_high", "float64", "highest value within the margin; null if there is none"),
    column("mistaken", "float64", "chance to be called reproduced if off by twice the margin"),
    column("unnoticed", "float64", "chance not to be called deviating if off by as much"),
    column("note", "string", "why it was not run, is undecided, or how its runs differ"),
    column("table", "string", "table that the measured value is in"),
    column("where", "string", "its row"),
    column("column", "string", "its column"),
]


def _assignments(text: str) -> dict[str, str]:
    """Parse ``a=1;b>=2`` into {a: 1, b: >=2}."""
    return dict(part.replace(">=", "=>=", 1).split("=", 1) for part in text.split(";") if part)


def _same(value: Any, text: str) -> bool:
    """Return whether a value meets a condition: a value or, with ``>=``, a lower bound."""
    if text.startswith(">="):
        return float(value) >= float(text[2:])
    return swept.is_written(value, text)


def unmet(study: Study, role: str, conditions: dict[str, str]) -> str:
    """Return why the study does not run a claim under some conditions; empty if it does.

    Conditions are parameters, ``steps`` and ``epochs``; ``parent.p`` is the p of the parent runs,
    ``scratch.p`` that of the role ``scratch``. Unless they name the seeds that runs have
    ``shared``, runs must share none; ``shared=any`` accepts all.
    """
    if role not in study.reproduce:
        if study.whole and role in study.whole.reproduce:
            return f"no run is done yet of {study.whole.reproduce[role]}"
        return f"not part of this study: `reproduce` has no {role}"
    for point in study.experiment(study.reproduce[role]):
        for name, value in ({"shared": "none"} | conditions).items():
            actual = _has(study, point, name)
            if value != "any" and not _same(actual, value):
                what = "shared seeds" if name == "shared" else name
                return f"runs with {what} {actual}, the paper has {value}"
    return ""


def _has(study: Study, point: Point | None, name: str) -> object:
    """Return what a condition names, of a point, its parent or the first point of another role."""
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


def judged(
    claim: pd.Series,
    measured: Estimate,
    rival: Estimate | None = None,
    n_runs: int = 0,
    n_planned: int = 0,
) -> dict:
    """Return the columns of a claim that follow from our estimate and that of a trivial answer."""
    judgement = verdicts.judge(claim, measured, n_runs)
    verdict, note = judgement.verdict, judgement.why
    is_lossy = n_runs < verdicts.MIN_FINISHED * n_planned
    if is_lossy and verdict in verdicts.AGREES + verdicts.DISAGREES:
        verdict = verdicts.UNDECIDED
        note = f"only {n_runs} of {n_planned} planned runs are there: the others may differ"
    passes = verdict in verdicts.AGREES
    if rival and passes and verdicts.judge(claim, rival).verdict in verdicts.AGREES:
        verdict = verdicts.UNDECIDED
        note = f"a trivial answer passes, too: {claim['rival']} is {rival.value:.3g}"
    if claim["kind"] == "share" and measured.n:  # scaled to the paper's number of runs
        scaled = measured.times(claim["published_n"] / measured.n)
        measured = scaled._replace(n=measured.n)
    ends = ("difference", "difference_low", "difference_high", "same_low", "same_high")
    values = (*judgement.difference[:3], *verdicts.accepted(claim))
    return {
        **measured.columns("measured"),
        **dict(zip(ends, values, strict=True)),
        "mistaken": judgement.mistaken,
        "unnoticed": judgement.unnoticed,
        "verdict": verdict,
        "note": note,
    }


def _wrong(claim: pd.Series, what: str) -> str:
    where = f"claims.csv of {claim['collection']}: {claim['claim']}"
    return f"{where}: the table {claim['table']} {what}"


def _answer(study: Study, claim: pd.Series) -> dict:
    conditions = _assignments(claim["conditions"])
    differs = unmet(study, claim["role"], conditions)
    same, accepted = (
        not unmet(study, claim["role"], conditions | _assignments(claim[name]))
        for name in ("shorter", "accepts")
    )
    reason = "" if same or accepted else differs
    if differs and same:
        differs += f", but from {claim['shorter'].replace('s>=', ' ')} on they decide the same"
    if not reason:
        frame = parquet.read_table(study, claim["table"])
        if "experiment" in frame:
            frame = frame[frame["experiment"] == study.reproduce[claim["role"]]]
        for name, value in claim["keys"].items():
            if name not in frame:
                raise ConfigError(_wrong(claim, f"has no column {name!r}"))
            frame = frame[frame[name].map(partial(swept.is_written, written=value)).astype(bool)]
        if len(frame) > 1:
            text = claims.text_of(claim["keys"]) or "any key"
            raise ConfigError(_wrong(claim, f"has {len(frame)} rows with {text}, not one"))
        if len(frame):
            row = frame.iloc[0]
            measured = _estimate(claim, row, claim["column"])
            rival = _estimate(claim, row, claim["rival"]) if claim["rival"] else None
            if missing := {"n_runs", "n_planned"} - set(frame):
                raise ConfigError(_wrong(claim, f"has no column {min(missing)!r}"))
            n_runs, n_planned = int(row["n_runs"]), int(row["n_planned"])
            if n_runs > n_planned:
                raise LogError(f"{claim['table']}: {n_runs} runs, of {n_planned} planned")
            columns = judged(claim, measured, rival, n_runs, n_planned)
            note = "; ".join(filter(None, [columns["note"], differs]))
            counts = {"n_runs": n_runs, "n_planned": n_planned}
            is_other = not same and claim["tally"] == claims_file.TEST
            tally = {"tally": claims_file.OTHER} if is_other else {}
            return columns | counts | tally | {"note": note}
        reason = f"{claim['table']} has no row with {claims.text_of(claim['keys'])}"
    return judged(claim, Estimate()) | {"n_runs": 0, "n_planned": 0, "note": reason}


def _estimate(claim: pd.Series, row: pd.Series, column: str) -> Estimate:
    """Return an estimate in a row of a table; raises ConfigError if the row lacks a column."""
    names = [f"{column}{end}" for end in ("", "_low", "_high", "_n")]
    if missing := set(names) - set(row.index):
        raise ConfigError(_wrong(claim, f"has no column {min(missing)!r}"))
    return Estimate.of_row(row, column)


def table(study: Study) -> list[dict]:
    """Return a row per published claim, in the order of the collections."""
    shown = [
        "claim", "reference", "source", "statement", "unit", "kind", "tally", "published", "table",
        "column",
    ]  # fmt: skip
    return [
        {
            **claim[shown],
            "paper": claim["collection"],
            "where": claims.text_of(claim["keys"]),
            **_answer(study, claim),
        }
        for _, claim in claims.read(study).iterrows()
    ]
